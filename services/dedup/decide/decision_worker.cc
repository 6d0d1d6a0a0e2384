#include "services/dedup/decide/decision_worker.h"

#include <algorithm>
#include <chrono>

#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Namespaces decided at once: each needs a connection for its log, and their work is mostly there.
constexpr int kThreads = 4;
// Documents of one namespace that may wait.
constexpr size_t kMaxWaiting = 20'000;
// Documents of a transaction with an urgent one, unless more are urgent.
constexpr size_t kMaxBesideUrgent = 100;
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
    std::lock_guard lock(mutex_);
    stopping_ = true;
    parts_.loads.stopping = true;
    for (auto& [ns, lane] : lanes_) {
      for (std::deque<DecisionJob>* queue : {&lane->urgent, &lane->bulk}) {
        std::move(queue->begin(), queue->end(), std::back_inserter(left));
        queue->clear();
      }
    }
    waiting_ = 0;
  }
  changed_.notify_all();
  load_changed_.notify_all();
  load_watch_.Stop();
  for (DecisionJob& job : left) Answer(parts_, job, rpc::ShuttingDown());
  if (meaning_) {
    for (DecisionJob& job : meaning_->Stop()) Answer(parts_, job, rpc::ShuttingDown());
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (auto& [ns, lane] : lanes_) lane->turn.reset();
  turns_.Stop();
}

void DecisionWorker::Submit(std::vector<DecisionJob> jobs) {
  for (DecisionJob& job : jobs) job.since = steady_clock::now();
  if (!meaning_) return Enqueue(std::move(jobs));
  for (DecisionJob& job : meaning_->Submit(std::move(jobs))) {
    Answer(parts_, job,
           is_stopping() ? rpc::ShuttingDown()
                         : Overloaded("this server's queue of documents to embed is full: retry "
                                      "after the delay in RetryInfo",
                                      kRetryAfter));
  }
}

void DecisionWorker::Enqueue(std::vector<DecisionJob> jobs) {
  Refused refused;
  {
    std::lock_guard lock(mutex_);
    for (DecisionJob& job : jobs) {
      NamespaceLane* lane = stopping_ ? nullptr : LaneFor(job.document.ns);
      if (lane == nullptr || lane->urgent.size() + lane->bulk.size() >= kMaxWaiting) {
        refused.emplace_back(std::move(job),
                             stopping_
                                 ? rpc::ShuttingDown()
                                 : Overloaded("the namespace has " + std::to_string(kMaxWaiting) +
                                                  " documents waiting for a decision, its "
                                                  "limit: retry after the delay in RetryInfo",
                                              kRetryAfter));
        continue;
      }
      (job.is_urgent ? lane->urgent : lane->bulk).push_back(std::move(job));
      ++waiting_;
      MakeReady(*lane);
    }
  }
  changed_.notify_all();
  load_changed_.notify_all();
  AnswerAll(std::move(refused));
}

void DecisionWorker::AnswerAll(Refused refused) {
  for (auto& [job, status] : refused) Answer(parts_, job, status);
}

bool DecisionWorker::is_stopping() const {
  std::lock_guard lock(mutex_);
  return stopping_;
}

size_t DecisionWorker::waiting() const {
  const size_t for_meaning = meaning_ ? meaning_->waiting() : 0;
  std::lock_guard lock(mutex_);
  return waiting_ + for_meaning;
}

// With the lock held. Null when all namespaces that fit are in use.
DecisionWorker::NamespaceLane* DecisionWorker::LaneFor(const std::string& ns) {
  const auto known = lanes_.find(ns);
  if (known != lanes_.end()) return known->second.get();
  if (lanes_.size() >= kMaxNamespaces) {
    auto idlest = lanes_.end();
    for (auto at = lanes_.begin(); at != lanes_.end(); ++at) {
      if (at->second->is_in_use()) continue;
      if (idlest == lanes_.end() || at->second->used < idlest->second->used) idlest = at;
    }
    if (idlest == lanes_.end()) return nullptr;
    lanes_.erase(idlest);
  }
  return lanes_.emplace(ns, std::make_unique<NamespaceLane>(ns, parts_)).first->second.get();
}

// With the lock held.
void DecisionWorker::MakeReady(NamespaceLane& lane) {
  if (lane.is_ready || lane.is_busy) return;
  if (!lane.decider.is_loaded()) {
    if (!lane.is_to_load && lane.urgent.empty() && lane.bulk.empty()) return;
    lane.is_ready = true;
    // Windows that calls wait for are loaded before others.
    lane.urgent.empty() ? to_load_.push_back(&lane) : to_load_.push_front(&lane);
    return;
  }
  if (!HasWork(lane)) return;
  lane.is_ready = true;
  ready_.push_back(&lane);
}

// With the lock held, of a loaded window. Where there is nothing but bulk that needs a turn, that
// is asked for.
bool DecisionWorker::HasWork(NamespaceLane& lane) {
  if (!lane.bulk.empty() && !lane.may_take_bulk() && !lane.is_turn_asked) {
    lane.is_turn_asked = turns_.Ask(lane.ns);
    if (!lane.is_turn_asked) lane.turn.emplace();
  }
  return !lane.urgent.empty() || (!lane.bulk.empty() && lane.may_take_bulk());
}

void DecisionWorker::Grant(const std::string& ns, BulkTurns::Turn turn) {
  std::lock_guard lock(mutex_);
  const auto at = lanes_.find(ns);
  if (stopping_ || at == lanes_.end()) return;
  NamespaceLane& lane = *at->second;
  lane.is_turn_asked = false;
  if (lane.bulk.empty()) return;
  lane.turn = std::move(turn);
  MakeReady(lane);
  changed_.notify_one();
}

void DecisionWorker::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (stopping_) return;
    NamespaceLane& lane = *ready_.front();
    ready_.pop_front();
    lane.is_ready = false;
    lane.is_busy = true;
    lane.used = ++uses_;
    std::vector<DecisionJob> jobs = TakeJobs(lane);
    std::optional<BulkTurns::Turn> turn = std::exchange(lane.turn, std::nullopt);
    lock.unlock();
    std::vector<DecisionJob> left = ProcessAll(lane, std::move(jobs));
    turn.reset();
    lock.lock();
    if (stopping_ && !left.empty()) {
      lock.unlock();
      for (DecisionJob& job : left) Answer(parts_, job, rpc::ShuttingDown());
      return;
    }
    PutBack(lane, std::move(left));
    lane.is_busy = false;
    lane.has_other_writers = lane.decider.has_other_writers();
    if (!lane.decider.is_loaded()) lane.is_to_load = true;
    // Behind the others: a busy namespace does not keep them waiting.
    MakeReady(lane);
    load_changed_.notify_one();
  }
}

// Urgent documents go first, with few others: a call is answered once the whole batch is decided.
std::vector<DecisionJob> DecisionWorker::TakeJobs(NamespaceLane& lane) {
  std::vector<DecisionJob> jobs;
  const size_t most = lane.urgent.empty() ? SIZE_MAX : lane.urgent.size() + kMaxBesideUrgent;
  const size_t limit = std::min(lane.decider.batch_limit(), most);
  for (std::deque<DecisionJob>* queue : {&lane.urgent, &lane.bulk}) {
    if (queue == &lane.bulk && !lane.may_take_bulk()) break;
    while (!queue->empty() && jobs.size() < limit) {
      jobs.push_back(std::move(queue->front()));
      queue->pop_front();
    }
  }
  waiting_ -= jobs.size();
  return jobs;
}

// With the lock held. They go first, in their order.
void DecisionWorker::PutBack(NamespaceLane& lane, std::vector<DecisionJob> jobs) {
  waiting_ += jobs.size();
  for (; !jobs.empty(); jobs.pop_back()) {
    DecisionJob& last = jobs.back();
    (last.is_urgent ? lane.urgent : lane.bulk).push_front(std::move(last));
  }
}

std::vector<DecisionJob> DecisionWorker::ProcessAll(NamespaceLane& lane,
                                                    std::vector<DecisionJob> jobs) {
  const auto now = steady_clock::now();
  const auto late = std::stable_partition(
      jobs.begin(), jobs.end(), [&](const DecisionJob& job) { return job.deadline > now; });
  for (auto job = late; job != jobs.end(); ++job) {
    Answer(parts_, *job, DeadlineExceeded("dedup's queue was longer than the call's deadline"));
  }
  jobs.erase(late, jobs.end());
  if (!jobs.empty()) lane.decider.Process(jobs);
  std::erase_if(jobs, [](const DecisionJob& job) { return job.is_answered(); });
  return jobs;
}

}  // namespace winnow::dedup
