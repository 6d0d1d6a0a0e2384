#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/dedup/decide/decision_job.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// Which namespace's documents are decided next and which window is loaded next. It has no threads,
// no clock and no lock: DecisionWorker calls it under its mutex. A Decider (NamespaceDecider) is
// asked for is_loaded(), batch_limit() and progress().
template <class Decider>
class LaneScheduler {
 public:
  struct Limits {
    size_t lanes = 1'000;        // namespaces in memory
    size_t waiting = 20'000;     // documents of a namespace
    size_t beside_urgent = 100;  // bulk of a batch with urgent documents
  };

  enum class Stage { kIdle, kQueued, kDeciding, kLoading };

  struct NamespaceLane {
    NamespaceLane(std::string name, std::unique_ptr<Decider> made)
        : ns(std::move(name)), decider(std::move(made)) {}
    const std::string ns;
    const std::unique_ptr<Decider> decider;  // of the thread that decides or loads
    std::deque<DecisionJob> urgent;
    std::deque<DecisionJob> bulk;
    Stage stage = Stage::kIdle;
    bool wants_load = false;   // though no job waits
    bool is_of_start = false;  // readiness waits for it
    int failed_loads = 0;      // in a row
    Status load_error;         // of the last load
    Deadline retry_load{};     // after a failure, unless a job comes first
    // With other writers bulk needs a turn; `turn` holds it, or null for going on without.
    bool has_other_writers = false;
    bool is_turn_asked = false;
    std::optional<std::shared_ptr<void>> turn;
    uint64_t used = 0;  // when last, by count

    bool may_take_bulk() const { return !has_other_writers || turn; }
    bool is_in_use() const { return stage != Stage::kIdle || is_turn_asked; }
    bool has_jobs() const { return !urgent.empty() || !bulk.empty(); }
  };

  using Refused = std::vector<std::pair<DecisionJob, Status>>;

  LaneScheduler() = default;
  explicit LaneScheduler(Limits limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  const std::map<std::string, std::unique_ptr<NamespaceLane>>& lanes() const { return lanes_; }
  size_t waiting() const { return waiting_; }
  bool has_ready() const { return !ready_.empty(); }
  bool has_load() const { return !to_load_.empty(); }

  // Null: not in memory.
  NamespaceLane* Find(const std::string& ns) {
    const auto at = lanes_.find(ns);
    return at == lanes_.end() ? nullptr : at->second.get();
  }

  // The lane of a namespace. A new one takes the place of the lane that was idle the longest if
  // there are as many as the limit; null if all of them are in use.
  template <class Make>
  NamespaceLane* Open(const std::string& ns, Make make_decider) {
    if (NamespaceLane* known = Find(ns)) return known;
    if (lanes_.size() >= limits_.lanes && !EvictIdlest()) return nullptr;
    return lanes_.emplace(ns, std::make_unique<NamespaceLane>(ns, make_decider()))
        .first->second.get();
  }

  // False, and the job as it was, if the namespace's queue is full.
  bool Push(NamespaceLane& lane, DecisionJob& job) {
    if (lane.urgent.size() + lane.bulk.size() >= limits_.waiting) return false;
    (job.is_urgent ? lane.urgent : lane.bulk).push_back(std::move(job));
    ++waiting_;
    return true;
  }

  // Queues the lane for what there is to do now, if anything. True: its bulk needs a turn that was
  // not asked for yet.
  bool Queue(NamespaceLane& lane) {
    if (lane.stage != Stage::kIdle) return false;
    if (!lane.decider->is_loaded()) {
      if (!lane.wants_load && !lane.has_jobs()) return false;
      lane.stage = Stage::kQueued;
      // Windows that calls wait for are loaded before others.
      lane.urgent.empty() ? to_load_.push_back(&lane) : to_load_.push_front(&lane);
      return false;
    }
    if (!lane.urgent.empty() || (!lane.bulk.empty() && lane.may_take_bulk())) {
      lane.stage = Stage::kQueued;
      ready_.push_back(&lane);
    }
    return !lane.bulk.empty() && !lane.may_take_bulk() && !lane.is_turn_asked;
  }

  // The next lane to decide; has_ready().
  NamespaceLane& BeginDeciding() { return Begin(ready_, Stage::kDeciding); }

  // The next batch. Urgent documents go first, with little bulk: a call is answered once the whole
  // batch is decided.
  std::vector<DecisionJob> TakeJobs(NamespaceLane& lane) {
    std::vector<DecisionJob> jobs;
    const size_t most = lane.urgent.empty() ? SIZE_MAX : lane.urgent.size() + limits_.beside_urgent;
    const size_t limit = std::min(lane.decider->batch_limit(), most);
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

  // `left`: jobs of the batch that are not answered; they go first, in their order.
  void EndDeciding(NamespaceLane& lane, std::vector<DecisionJob> left, bool has_other_writers) {
    waiting_ += left.size();
    for (; !left.empty(); left.pop_back()) {
      DecisionJob& last = left.back();
      (last.is_urgent ? lane.urgent : lane.bulk).push_front(std::move(last));
    }
    lane.stage = Stage::kIdle;
    lane.has_other_writers = has_other_writers;
    if (!lane.decider->is_loaded()) lane.wants_load = true;
  }

  // The next lane whose window is to be loaded; has_load().
  NamespaceLane& BeginLoad() {
    NamespaceLane& lane = Begin(to_load_, Stage::kLoading);
    lane.wants_load = false;
    return lane;
  }

  // Gives the jobs that a failed load refuses: all that wait, unless the store was slow, which they
  // wait out for as long as their deadlines allow.
  Refused EndLoad(NamespaceLane& lane, const Status& loaded, Deadline now) {
    lane.stage = Stage::kIdle;
    lane.load_error = loaded;
    if (loaded.ok()) {
      lane.failed_loads = 0;
      return {};
    }
    lane.retry_load = now + BackoffAfter(++lane.failed_loads);
    if (loaded.code() == StatusCode::kDeadlineExceeded) return {};
    Refused refused;
    for (DecisionJob& job : TakeAll(lane)) refused.emplace_back(std::move(job), loaded);
    return refused;
  }

  // Queues the lanes whose load failed and is to be tried again by now.
  void RetryLoads(Deadline now) {
    for (auto& [ns, lane] : lanes_) {
      if (lane->load_error.ok() || now < lane->retry_load || lane->stage != Stage::kIdle) continue;
      lane->wants_load = true;
      Queue(*lane);
    }
  }

  // Takes the jobs for which `why` has an error, of lanes whose window is not loaded.
  template <class Why>
  Refused TakeIf(Why why) {
    Refused refused;
    for (auto& [ns, held] : lanes_) {
      NamespaceLane& lane = *held;
      if (lane.stage == Stage::kDeciding) continue;
      if (lane.stage != Stage::kLoading && lane.decider->is_loaded()) continue;
      for (std::deque<DecisionJob>* queue : {&lane.urgent, &lane.bulk}) {
        const auto late = std::stable_partition(
            queue->begin(), queue->end(),
            [&](const DecisionJob& job) { return why(std::as_const(lane), job).ok(); });
        for (auto job = late; job != queue->end(); ++job) {
          Status error = why(std::as_const(lane), *job);
          refused.emplace_back(std::move(*job), std::move(error));
        }
        waiting_ -= static_cast<size_t>(queue->end() - late);
        queue->erase(late, queue->end());
      }
    }
    return refused;
  }

  // Takes everything that waits.
  std::vector<DecisionJob> Clear() {
    std::vector<DecisionJob> left;
    for (auto& [ns, lane] : lanes_) {
      std::ranges::move(TakeAll(*lane), std::back_inserter(left));
    }
    return left;
  }

 private:
  static constexpr std::chrono::milliseconds kMinBackoff{250};
  static constexpr std::chrono::milliseconds kMaxBackoff{10'000};

  static std::chrono::milliseconds BackoffAfter(int failures) {
    return std::min(kMaxBackoff, kMinBackoff * (1 << std::min(failures - 1, 10)));
  }

  bool EvictIdlest() {
    auto idlest = lanes_.end();
    for (auto at = lanes_.begin(); at != lanes_.end(); ++at) {
      if (at->second->is_in_use()) continue;
      if (idlest == lanes_.end() || at->second->used < idlest->second->used) idlest = at;
    }
    if (idlest == lanes_.end()) return false;
    lanes_.erase(idlest);
    return true;
  }

  NamespaceLane& Begin(std::deque<NamespaceLane*>& queue, Stage stage) {
    NamespaceLane& lane = *queue.front();
    queue.pop_front();
    lane.stage = stage;
    lane.used = ++uses_;
    return lane;
  }

  std::vector<DecisionJob> TakeAll(NamespaceLane& lane) {
    std::vector<DecisionJob> jobs;
    for (std::deque<DecisionJob>* queue : {&lane.urgent, &lane.bulk}) {
      std::move(queue->begin(), queue->end(), std::back_inserter(jobs));
      queue->clear();
    }
    waiting_ -= jobs.size();
    return jobs;
  }

  const Limits limits_{};
  std::map<std::string, std::unique_ptr<NamespaceLane>> lanes_;
  std::deque<NamespaceLane*> ready_;
  std::deque<NamespaceLane*> to_load_;
  uint64_t uses_ = 0;
  size_t waiting_ = 0;
};

}  // namespace winnow::dedup
