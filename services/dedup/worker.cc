#include "services/dedup/worker.h"

#include <algorithm>
#include <chrono>

#include "services/platform/grpc/rpc_status.h"
#include "services/platform/log.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Namespaces decided at once: each needs a connection for its log, and their work is mostly there.
constexpr int kThreads = 4;
// Documents of one namespace that may wait.
constexpr size_t kMostWaiting = 20'000;
// Documents of a transaction where somebody waits for one, unless more are waited for.
constexpr size_t kMostBesideUrgent = 100;
// Namespaces with a window in memory; of more, the one that was idle the longest gives way.
constexpr size_t kMostNamespaces = 1'000;
constexpr int kMostLoadedAtStart = 100;
constexpr std::chrono::seconds kStartTime(5);
constexpr std::chrono::seconds kLoadTime(30);
constexpr std::chrono::milliseconds kRetryAfter(250);

}  // namespace

Worker::Worker(const WorkerParts& parts, Metrics& metrics)
    : parts_(parts), turns_(parts.logs, parts.metrics.turn_seconds, [this](auto& ns, auto turn) {
        Grant(ns, std::move(turn));
      }) {
  if (parts_.embedder != nullptr) {
    meaning_ = std::make_unique<MeaningStage>(
        parts_, [this](std::vector<Job> jobs) { Enqueue(std::move(jobs)); });
  }
  gauges_.push_back(metrics.AddGauge("winnow_dedup_waiting_documents",
                                     "Documents that wait for a decision.", {},
                                     [this] { return static_cast<double>(waiting()); }));
  gauges_.push_back(metrics.AddGauge(
      "winnow_dedup_window_documents", "Documents in memory that later ones are compared with.", {},
      [&memory = parts_.memory] { return static_cast<double>(memory.documents.load()); }));
}

Worker::~Worker() { Stop(); }

void Worker::Start() {
  RequestLoads();
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
  turns_.Start();
  if (meaning_) meaning_->Start();
}

// Without it the first document of each namespace would wait for its window.
void Worker::RequestLoads() {
  const auto read = [](pg::Session& session) -> StatusOr<std::vector<std::string>> {
    return ReadNamespaces(session, kMostLoadedAtStart);
  };
  const auto namespaces = parts_.reads.Read(steady_clock::now() + kStartTime, read);
  if (!namespaces.ok()) {
    log::Warn("dedup windows are loaded when they are asked for: the store is away",
              {{"error", Message(namespaces.status())}});
    return;
  }
  std::lock_guard lock(mutex_);
  for (const std::string& ns : *namespaces) {
    Lane& lane = *LaneFor(ns);
    lane.is_to_load = true;
    MakeReady(lane);
  }
}

void Worker::Stop() {
  std::vector<Job> left;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [ns, lane] : lanes_) {
      for (std::deque<Job>* queue : {&lane->urgent, &lane->bulk}) {
        std::move(queue->begin(), queue->end(), std::back_inserter(left));
        queue->clear();
      }
    }
    waiting_ = 0;
  }
  changed_.notify_all();
  for (Job& job : left) Answer(parts_, job, rpc::ShuttingDown());
  if (meaning_) {
    for (Job& job : meaning_->Stop()) Answer(parts_, job, rpc::ShuttingDown());
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (auto& [ns, lane] : lanes_) lane->turn.reset();
  turns_.Stop();
}

void Worker::Submit(std::vector<Job> jobs) {
  for (Job& job : jobs) job.since = steady_clock::now();
  if (!meaning_) return Enqueue(std::move(jobs));
  for (Job& job : meaning_->Submit(std::move(jobs))) {
    Answer(parts_, job,
           is_stopping() ? rpc::ShuttingDown()
                         : Overloaded("dedup's queue for embeddings", kRetryAfter));
  }
}

void Worker::Enqueue(std::vector<Job> jobs) {
  std::vector<std::pair<Job, Status>> refused;
  {
    std::lock_guard lock(mutex_);
    for (Job& job : jobs) {
      Lane* lane = stopping_ ? nullptr : LaneFor(job.document.ns);
      if (lane == nullptr || lane->urgent.size() + lane->bulk.size() >= kMostWaiting) {
        refused.emplace_back(std::move(job),
                             stopping_ ? rpc::ShuttingDown()
                                       : Overloaded("dedup's queue of the namespace", kRetryAfter));
        continue;
      }
      (job.is_urgent ? lane->urgent : lane->bulk).push_back(std::move(job));
      ++waiting_;
      MakeReady(*lane);
    }
  }
  changed_.notify_all();
  for (auto& [job, status] : refused) Answer(parts_, job, status);
}

bool Worker::is_stopping() const {
  std::lock_guard lock(mutex_);
  return stopping_;
}

size_t Worker::waiting() const {
  const size_t for_meaning = meaning_ ? meaning_->waiting() : 0;
  std::lock_guard lock(mutex_);
  return waiting_ + for_meaning;
}

// With the lock held. Null when all namespaces that fit are in use.
Worker::Lane* Worker::LaneFor(const std::string& ns) {
  const auto known = lanes_.find(ns);
  if (known != lanes_.end()) return known->second.get();
  if (lanes_.size() >= kMostNamespaces) {
    auto idlest = lanes_.end();
    for (auto at = lanes_.begin(); at != lanes_.end(); ++at) {
      if (at->second->is_in_use()) continue;
      if (idlest == lanes_.end() || at->second->used < idlest->second->used) idlest = at;
    }
    if (idlest == lanes_.end()) return nullptr;
    lanes_.erase(idlest);
  }
  return lanes_.emplace(ns, std::make_unique<Lane>(ns, parts_)).first->second.get();
}

// With the lock held.
void Worker::MakeReady(Lane& lane) {
  if (lane.is_ready || lane.is_busy || !HasWork(lane)) return;
  lane.is_ready = true;
  ready_.push_back(&lane);
}

// With the lock held. Where there is nothing but bulk that needs a turn, that is asked for.
bool Worker::HasWork(Lane& lane) {
  if (!lane.bulk.empty() && !lane.may_take_bulk() && !lane.is_turn_asked) {
    lane.is_turn_asked = turns_.Ask(lane.ns);
    if (!lane.is_turn_asked) lane.turn.emplace();
  }
  return lane.is_to_load || !lane.urgent.empty() || (!lane.bulk.empty() && lane.may_take_bulk());
}

void Worker::Grant(const std::string& ns, BulkTurns::Turn turn) {
  std::lock_guard lock(mutex_);
  const auto at = lanes_.find(ns);
  if (stopping_ || at == lanes_.end()) return;
  Lane& lane = *at->second;
  lane.is_turn_asked = false;
  if (lane.bulk.empty()) return;
  lane.turn = std::move(turn);
  MakeReady(lane);
  changed_.notify_one();
}

void Worker::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (stopping_) return;
    Lane& lane = *ready_.front();
    ready_.pop_front();
    lane.is_ready = false;
    lane.is_busy = true;
    lane.used = ++uses_;
    std::vector<Job> jobs = TakeJobs(lane);
    const bool is_to_load = std::exchange(lane.is_to_load, false);
    std::optional<BulkTurns::Turn> turn = std::exchange(lane.turn, std::nullopt);
    lock.unlock();
    std::vector<Job> left = ProcessAll(lane, std::move(jobs), is_to_load);
    turn.reset();
    lock.lock();
    if (stopping_ && !left.empty()) {
      lock.unlock();
      for (Job& job : left) Answer(parts_, job, rpc::ShuttingDown());
      return;
    }
    PutBack(lane, std::move(left));
    lane.is_busy = false;
    lane.has_company = lane.decider.has_company();
    // Behind the others: a busy namespace does not keep them waiting.
    MakeReady(lane);
  }
}

// Those that somebody waits for go first, with few others: he is answered when all of them are.
std::vector<Job> Worker::TakeJobs(Lane& lane) {
  std::vector<Job> jobs;
  const size_t most = lane.urgent.empty() ? SIZE_MAX : lane.urgent.size() + kMostBesideUrgent;
  const size_t limit = std::min(lane.decider.batch_limit(), most);
  for (std::deque<Job>* queue : {&lane.urgent, &lane.bulk}) {
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
void Worker::PutBack(Lane& lane, std::vector<Job> jobs) {
  waiting_ += jobs.size();
  for (; !jobs.empty(); jobs.pop_back()) {
    Job& last = jobs.back();
    (last.is_urgent ? lane.urgent : lane.bulk).push_front(std::move(last));
  }
}

std::vector<Job> Worker::ProcessAll(Lane& lane, std::vector<Job> jobs, bool is_to_load) {
  const auto now = steady_clock::now();
  const auto late = std::stable_partition(jobs.begin(), jobs.end(),
                                          [&](const Job& job) { return job.deadline > now; });
  for (auto job = late; job != jobs.end(); ++job) {
    Answer(parts_, *job, DeadlineExceeded("dedup's queue was longer than the call's deadline"));
  }
  jobs.erase(late, jobs.end());
  if (!jobs.empty()) {
    lane.decider.Process(jobs);
  } else if (is_to_load) {
    const Status loaded = lane.decider.Load(now + kLoadTime);
    if (!loaded.ok()) log::Warn("dedup window not loaded yet", {{"error", Message(loaded)}});
  }
  std::erase_if(jobs, [](const Job& job) { return job.is_answered(); });
  return jobs;
}

}  // namespace winnow::dedup
