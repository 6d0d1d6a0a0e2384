#include "services/dedup/decide/decision_worker.h"

#include <algorithm>
#include <chrono>

#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Namespaces decided at once: each needs a connection for its log, and their work is mostly there.
constexpr int kThreads = 4;
// Windows loaded at once: each has a thread that fills its index, beside those that read ahead.
constexpr int kLoadThreads = 2;
constexpr std::chrono::milliseconds kRetryAfter(250);

}  // namespace

DecisionWorker::DecisionWorker(const DecisionParts& parts, Metrics& metrics)
    : parts_(parts), turns_(parts.logs, parts.metrics.turn_seconds, [this](auto& ns, auto turn) {
        Grant(ns, std::move(turn));
      }) {
  if (parts_.embedder != nullptr) {
    meaning_ = std::make_unique<MeaningStage>(
        parts_, [this](std::vector<DecisionJob> jobs) { Enqueue(std::move(jobs)); });
  }
  gauges_.push_back(metrics.AddGauge("winnow_dedup_waiting_documents",
                                     "Documents that wait for a decision.", {},
                                     [this] { return static_cast<double>(waiting()); }));
  gauges_.push_back(metrics.AddGauge(
      "winnow_dedup_window_documents", "Documents in memory that later ones are compared with.", {},
      [&memory = parts_.memory] { return static_cast<double>(memory.documents.load()); }));
  AddLoadGauges(metrics);
}

DecisionWorker::~DecisionWorker() { Stop(); }

void DecisionWorker::Start() {
  started_ = logged_ = steady_clock::now();
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
  for (int i = 0; i < kLoadThreads; ++i) threads_.emplace_back([this] { RunLoads(); });
  load_watch_.Start([this] { return WatchLoads(); });
  turns_.Start();
  if (meaning_) meaning_->Start();
}

void DecisionWorker::Stop() {
  std::vector<DecisionJob> left;
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
    parts_.loads.stopping = true;
    left = lanes_.Clear();
  }
  load_watch_.Stop();
  for (DecisionJob& job : left) Answer(parts_, job, rpc::ShuttingDown());
  if (meaning_) {
    for (DecisionJob& job : meaning_->Stop()) Answer(parts_, job, rpc::ShuttingDown());
  }
  threads_.clear();
  for (const auto& [ns, lane] : lanes_.lanes()) lane->turn.reset();
  turns_.Stop();
}

void DecisionWorker::Submit(std::vector<DecisionJob> jobs) {
  for (DecisionJob& job : jobs) job.since = steady_clock::now();
  if (!meaning_) return Enqueue(std::move(jobs));
  for (DecisionJob& job : meaning_->Submit(std::move(jobs))) {
    Answer(parts_, job,
           stop_.stop_requested()
               ? rpc::ShuttingDown()
               : Overloaded("this server's queue of documents to embed is full: retry "
                            "after the delay in RetryInfo",
                            kRetryAfter));
  }
}

void DecisionWorker::Enqueue(std::vector<DecisionJob> jobs) {
  Lanes::Refused refused;
  {
    const std::lock_guard lock(mutex_);
    for (DecisionJob& job : jobs) {
      if (stop_.stop_requested()) {
        refused.emplace_back(std::move(job), rpc::ShuttingDown());
        continue;
      }
      Lane* lane = OpenLane(job.document.ns);
      if (lane != nullptr && lanes_.Push(*lane, job)) {
        Schedule(*lane);
        continue;
      }
      refused.emplace_back(
          std::move(job),
          Overloaded("the namespace has " + std::to_string(lanes_.limits().waiting) +
                         " documents waiting for a decision, its limit: retry "
                         "after the delay in RetryInfo",
                     kRetryAfter));
    }
  }
  changed_.notify_all();
  load_changed_.notify_all();
  AnswerAll(std::move(refused));
}

void DecisionWorker::AnswerAll(Lanes::Refused&& refused) {
  for (auto& [job, status] : refused) Answer(parts_, job, status);
}

size_t DecisionWorker::waiting() const {
  const size_t for_meaning = meaning_ ? meaning_->waiting() : 0;
  std::lock_guard lock(mutex_);
  return lanes_.waiting() + for_meaning;
}

// With the lock held. Null when all namespaces that fit are in use.
DecisionWorker::Lane* DecisionWorker::OpenLane(const std::string& ns) {
  return lanes_.Open(ns, [&] { return std::make_unique<NamespaceDecider>(ns, parts_); });
}

// With the lock held.
void DecisionWorker::Schedule(Lane& lane) {
  if (!lanes_.Queue(lane)) return;
  lane.is_turn_asked = turns_.Ask(lane.ns);
  if (lane.is_turn_asked) return;
  lane.turn.emplace();
  lanes_.Queue(lane);
}

void DecisionWorker::Grant(const std::string& ns, BulkTurns::Turn turn) {
  const std::lock_guard lock(mutex_);
  Lane* lane = lanes_.Find(ns);
  if (stop_.stop_requested() || lane == nullptr) return;
  lane->is_turn_asked = false;
  if (lane->bulk.empty()) return;
  lane->turn = std::move(turn);
  Schedule(*lane);
  changed_.notify_one();
}

void DecisionWorker::Run() {
  Lock lock(mutex_);
  while (changed_.wait(lock, stop_.get_token(), [this] { return lanes_.has_ready(); }) &&
         !stop_.stop_requested()) {
    Lane& lane = lanes_.BeginDeciding();
    std::vector<DecisionJob> jobs = lanes_.TakeJobs(lane);
    std::optional<BulkTurns::Turn> turn = std::exchange(lane.turn, std::nullopt);
    lock.unlock();
    std::vector<DecisionJob> left = ProcessAll(lane, std::move(jobs));
    turn.reset();
    lock.lock();
    if (stop_.stop_requested()) {
      lock.unlock();
      for (DecisionJob& job : left) Answer(parts_, job, rpc::ShuttingDown());
      return;
    }
    lanes_.EndDeciding(lane, std::move(left), lane.decider->has_other_writers());
    // Behind the others: a busy namespace does not keep them waiting.
    Schedule(lane);
    load_changed_.notify_one();
  }
}

std::vector<DecisionJob> DecisionWorker::ProcessAll(Lane& lane, std::vector<DecisionJob> jobs) {
  const auto now = steady_clock::now();
  const auto late = std::stable_partition(
      jobs.begin(), jobs.end(), [&](const DecisionJob& job) { return job.deadline > now; });
  for (auto job = late; job != jobs.end(); ++job) {
    Answer(parts_, *job, DeadlineExceeded("dedup's queue was longer than the call's deadline"));
  }
  jobs.erase(late, jobs.end());
  if (!jobs.empty()) lane.decider->Process(jobs);
  std::erase_if(jobs, [](const DecisionJob& job) { return job.is_answered(); });
  return jobs;
}

}  // namespace winnow::dedup
