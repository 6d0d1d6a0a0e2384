#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/dedup/decide/bulk_turns.h"
#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_parts.h"
#include "services/dedup/decide/meaning_stage.h"
#include "services/dedup/decide/namespace_decider.h"
#include "services/platform/process/periodic_thread.h"

namespace winnow::dedup {

// Collects documents that wait for a decision, and has each namespace's decided in batches: one at
// a time per namespace, several namespaces at once.
class DecisionWorker {
 public:
  DecisionWorker(const DecisionParts& parts, Metrics& metrics);
  ~DecisionWorker();  // stops

  // Starts deciding, and loading the windows of the namespaces that were written last.
  void Start();
  // What waits is refused. Later submissions are too.
  void Stop();

  // Hands the documents over, in order; each is answered by its `done`, which may be called before
  // this returns. Refused at once (RESOURCE_EXHAUSTED) where the queue of the namespace is full.
  void Submit(std::vector<DecisionJob> jobs);

  size_t waiting() const;

  // Whether the windows that were to be loaded at the start are: what readiness goes by. OK for
  // good from then on, and after two minutes at the latest, or where a window cannot be loaded for
  // another reason than the store's absence: calls of that namespace fail, all others are answered.
  Status CheckStart() const;
  // Whether every window that is held, or was asked for, is loaded.
  Status CheckEveryWindow() const;

 private:
  // Namespaces with a window in memory; of more, the one that was idle the longest gives way.
  static constexpr size_t kMaxNamespaces = 1'000;

  struct NamespaceLane {
    NamespaceLane(const std::string& name, const DecisionParts& parts)
        : ns(name), decider(name, parts) {}
    const std::string ns;
    NamespaceDecider decider;  // of the thread that has made the lane busy
    std::deque<DecisionJob> urgent;
    std::deque<DecisionJob> bulk;
    bool is_busy = false;
    bool is_ready = false;     // it is in ready_
    bool is_to_load = false;   // though no job waits
    bool is_loading = false;   // a loading thread has made it busy
    bool is_of_start = false;  // readiness waits for it
    int failed_loads = 0;      // in a row
    Status load_error;         // of the last one
    Deadline retry_load{};     // when it failed: the next try, unless a job comes first
    // Bulk needs a turn among the instances; `turn` is there (or null) when it has its own.
    bool has_other_writers = false;
    bool is_turn_asked = false;
    std::optional<BulkTurns::Turn> turn;
    uint64_t used = 0;  // when last, by count

    bool may_take_bulk() const { return !has_other_writers || turn; }
    bool is_in_use() const { return is_busy || is_ready || is_turn_asked; }
  };

  using Refused = std::vector<std::pair<DecisionJob, Status>>;
  using Lock = std::unique_lock<std::mutex>;

  bool is_stopping() const;
  void AnswerAll(Refused refused);
  // To the namespace's queue; after their vectors, where there is an embedder.
  void Enqueue(std::vector<DecisionJob> jobs);
  NamespaceLane* LaneFor(const std::string& ns);
  // Lets a thread take it, where there is something to do now.
  void MakeReady(NamespaceLane& lane);
  bool HasWork(NamespaceLane& lane);
  void Grant(const std::string& ns, BulkTurns::Turn turn);
  void Run();
  std::vector<DecisionJob> TakeJobs(NamespaceLane& lane);
  // Gives the jobs that were left unanswered.
  std::vector<DecisionJob> ProcessAll(NamespaceLane& lane, std::vector<DecisionJob> jobs);
  void PutBack(NamespaceLane& lane, std::vector<DecisionJob> jobs);

  // Loading, in decision_worker_load.cc.
  void RunLoads();
  void EndLoad(NamespaceLane& lane, const Status& loaded, Lock& lock);
  std::chrono::milliseconds WatchLoads();
  void ListNamespaces();
  Refused TakeLate(Deadline now);
  void TakeLateOf(NamespaceLane& lane, Deadline now, Refused& refused);
  void RetryLoads(Deadline now);
  void LogProgress(Deadline now);
  void JudgeStart(Deadline now);
  void AddLoadGauges(Metrics& metrics);
  enum class WindowState { kLoading, kLoaded, kFailed };
  static WindowState StateOf(const NamespaceLane& lane);
  struct WindowCounts {
    size_t loading = 0, loaded = 0, failed = 0;
    int64_t entries = 0, expected = 0;  // of the loads that run
    std::string first_error;
  };
  WindowCounts CountWindows(bool only_of_start) const;

  const DecisionParts parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable load_changed_;
  std::map<std::string, std::unique_ptr<NamespaceLane>> lanes_;
  std::deque<NamespaceLane*> ready_;
  std::deque<NamespaceLane*> to_load_;
  bool stopping_ = false;
  Deadline started_{};
  // Why the namespaces of the start are not known yet.
  Status listed_ = Unavailable(Reason::kWindowLoading, "the namespaces have not been listed yet",
                               std::chrono::seconds(1));
  Deadline list_again_{};
  bool is_ready_ = false;  // the windows of the start are loaded, or given up
  Deadline logged_{};      // when progress was
  uint64_t uses_ = 0;
  size_t waiting_ = 0;
  BulkTurns turns_;
  std::vector<std::thread> threads_;
  PeriodicThread load_watch_;
  std::unique_ptr<MeaningStage> meaning_;      // null without an embedder
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the above
};

}  // namespace winnow::dedup
