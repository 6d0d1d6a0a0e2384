#include "services/app/import/decision_waiter.h"

namespace winnow::app {
namespace {

using dedup::v1::DedupService;
using dedup::v1::GetDecisionRequest;
using std::chrono::milliseconds;

constexpr int kThreads = 8;
// The pause after an answer of "not yet".
constexpr milliseconds kPause{50};
// An item that is still undecided after so many requests, e.g. because its event is tried again
// with backoff, lets the others go first from then on.
constexpr int kTriesInFront = 20;

}  // namespace

DecisionWaiter::DecisionWaiter(const Remote& remote, std::string item_namespace,
                               OnDecided on_decided)
    : server_(remote),
      namespace_(std::move(item_namespace)),
      on_decided_(std::move(on_decided)),
      last_progress_(Clock::now()) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Work(); });
}

DecisionWaiter::~DecisionWaiter() {
  stop_.request_stop();
  for (std::thread& thread : threads_) thread.join();
}

void DecisionWaiter::Add(std::string id) {
  const std::lock_guard lock(mutex_);
  if (questions_.empty() && asking_ == 0) last_progress_ = Clock::now();
  questions_.push_back({std::move(id)});
  due_.notify_one();
}

size_t DecisionWaiter::waiting() const {
  const std::lock_guard lock(mutex_);
  return questions_.size() + asking_;
}

bool DecisionWaiter::WaitUntilAtMost(size_t count, milliseconds limit) {
  std::unique_lock lock(mutex_);
  return fewer_.wait_for(lock, limit,
                         [&] { return questions_.size() + asking_ <= count || !error_.ok(); });
}

DecisionWaiter::Clock::duration DecisionWaiter::idle() const {
  const std::lock_guard lock(mutex_);
  return Clock::now() - last_progress_;
}

Status DecisionWaiter::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool DecisionWaiter::Take(Question& question, std::unique_lock<std::mutex>& lock) {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    if (questions_.empty()) {
      due_.wait(lock, stop, [this] { return !questions_.empty(); });
    } else if (not_before_ > Clock::now()) {
      due_.wait_until(lock, stop, not_before_, [] { return false; });
    } else {
      question = std::move(questions_.front());
      questions_.pop_front();
      ++asking_;
      return true;
    }
  }
  return false;
}

void DecisionWaiter::Work() {
  std::unique_lock lock(mutex_);
  Question question;
  while (Take(question, lock)) {
    lock.unlock();
    GetDecisionRequest request;
    request.set_namespace_(namespace_);
    request.set_document_id(question.id);
    const auto response = server_.Call(&DedupService::Stub::GetDecision, request);
    if (response.ok()) {
      const auto verdict = response->decision().verdict();
      on_decided_(question.id, verdict == dedup::v1::VERDICT_DUPLICATE);
    }
    lock.lock();
    Answered(std::move(question), response.status());
  }
}

void DecisionWaiter::Answered(Question question, const Status& status) {
  --asking_;
  if (status.ok()) {
    last_progress_ = Clock::now();
    // Cancelled by a server that is stopping, or by a signal, after which the answer is not needed.
  } else if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kCancelled ||
             IsTransient(status)) {
    not_before_ = Clock::now() + kPause;
    if (++question.tries < kTriesInFront) {
      questions_.push_front(std::move(question));
    } else {
      questions_.push_back(std::move(question));
    }
    due_.notify_one();
    return;
  } else {
    error_ = status;
    stop_.request_stop();
  }
  fewer_.notify_all();
}

}  // namespace winnow::app
