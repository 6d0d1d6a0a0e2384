#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/dedup/decide/bulk_turns.h"
#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_parts.h"
#include "services/dedup/decide/lane_scheduler.h"
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
  using Lanes = LaneScheduler<NamespaceDecider>;
  using Lane = Lanes::NamespaceLane;
  using Lock = std::unique_lock<std::mutex>;

  void AnswerAll(Lanes::Refused&& refused);
  // To the namespace's queue; after their vectors, where there is an embedder.
  void Enqueue(std::vector<DecisionJob> jobs);
  Lane* OpenLane(const std::string& ns);
  // Lets a thread take it, if there is something to do now; asks for a turn of bulk if it needs
  // one.
  void Schedule(Lane& lane);
  void Grant(const std::string& ns, BulkTurns::Turn turn);
  void Run();
  // Gives the jobs that were left unanswered.
  std::vector<DecisionJob> ProcessAll(Lane& lane, std::vector<DecisionJob> jobs);

  // Loading, in decision_worker_load.cc.
  void RunLoads();
  void EndLoad(Lane& lane, const Status& loaded, Lock& lock);
  std::chrono::milliseconds WatchLoads();
  void ListNamespaces();
  Lanes::Refused TakeLate(Deadline now);
  void LogProgress(Deadline now);
  void JudgeStart(Deadline now);
  void AddLoadGauges(Metrics& metrics);
  enum class WindowState { kLoading, kLoaded, kFailed };
  static WindowState StateOf(const Lane& lane);
  struct WindowCounts {
    size_t loading = 0, loaded = 0, failed = 0;
    int64_t entries = 0, expected = 0;  // of the loads that run
    std::string first_error;
  };
  WindowCounts CountWindows(bool only_of_start) const;

  const DecisionParts parts_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable_any load_changed_;
  Lanes lanes_;
  std::stop_source stop_;
  Deadline started_{};
  // Why the namespaces of the start are not known yet.
  Status listed_ = Unavailable(Reason::kWindowLoading, "the namespaces have not been listed yet",
                               std::chrono::seconds(1));
  Deadline list_again_{};
  bool is_ready_ = false;  // the windows of the start are loaded, or given up
  Deadline logged_{};      // when progress was
  BulkTurns turns_;
  std::vector<std::jthread> threads_;
  PeriodicThread load_watch_;
  std::unique_ptr<MeaningStage> meaning_;      // null without an embedder
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the above
};

}  // namespace winnow::dedup
