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

#include "services/dedup/worker_decider.h"
#include "services/dedup/worker_job.h"
#include "services/dedup/worker_meaning.h"
#include "services/dedup/worker_parts.h"
#include "services/dedup/worker_turns.h"

namespace winnow::dedup {

// Collects documents that wait for a decision, and has each namespace's decided in batches: one at
// a time per namespace, several namespaces at once.
class Worker {
 public:
  Worker(const WorkerParts& parts, Metrics& metrics);
  ~Worker();  // stops

  // Starts deciding, and loads the windows of the namespaces that were written last.
  void Start();
  // What waits is refused. Later submissions are too.
  void Stop();

  // Hands the documents over, in order; each is answered by its `done`, which may be called before
  // this returns. Refused at once (RESOURCE_EXHAUSTED) where the queue of the namespace is full.
  void Submit(std::vector<Job> jobs);

  size_t waiting() const;

 private:
  struct Lane {
    Lane(const std::string& name, const WorkerParts& parts) : ns(name), decider(name, parts) {}
    const std::string ns;
    NamespaceDecider decider;  // of the thread that has made the lane busy
    std::deque<Job> urgent;
    std::deque<Job> bulk;
    bool is_busy = false;
    bool is_ready = false;  // it is in ready_
    bool is_to_load = false;
    // Bulk needs a turn among the instances; `turn` is there (or null) when it has its own.
    bool has_company = false;
    bool is_turn_asked = false;
    std::optional<BulkTurns::Turn> turn;
    uint64_t used = 0;  // when last, by count

    bool may_take_bulk() const { return !has_company || turn; }
    bool is_in_use() const { return is_busy || is_ready || is_turn_asked; }
  };

  bool is_stopping() const;
  // To the namespace's queue; after their vectors, where there is an embedder.
  void Enqueue(std::vector<Job> jobs);
  Lane* LaneFor(const std::string& ns);
  // Lets a thread take it, where there is something to do now.
  void MakeReady(Lane& lane);
  bool HasWork(Lane& lane);
  void Grant(const std::string& ns, BulkTurns::Turn turn);
  void RequestLoads();
  void Run();
  std::vector<Job> TakeJobs(Lane& lane);
  // Gives the jobs that were left unanswered.
  std::vector<Job> ProcessAll(Lane& lane, std::vector<Job> jobs, bool is_to_load);
  void PutBack(Lane& lane, std::vector<Job> jobs);

  const WorkerParts parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Lane>> lanes_;
  std::deque<Lane*> ready_;
  bool stopping_ = false;
  uint64_t uses_ = 0;
  size_t waiting_ = 0;
  BulkTurns turns_;
  std::vector<std::thread> threads_;
  std::unique_ptr<MeaningStage> meaning_;      // null without an embedder
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the above
};

}  // namespace winnow::dedup
