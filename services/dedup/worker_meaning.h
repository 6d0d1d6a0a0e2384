#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "services/dedup/worker_job.h"
#include "services/dedup/worker_parts.h"

namespace winnow::dedup {

// Gives documents the vectors of their titles before they come to the worker, several at a time:
// those that somebody waits for by one thread, the others by another, so that a flood delays
// nobody. A document whose vector cannot be had in time goes on without, and says so.
class MeaningStage {
 public:
  // `next` takes the documents on, in the order in which each thread got them.
  MeaningStage(const WorkerParts& parts, std::function<void(std::vector<Job>)> next);
  ~MeaningStage();  // stops

  void Start();
  // Gives back what still waits.
  std::vector<Job> Stop();

  // Each job's `since` is when its time begins. Gives back those for which there is no room.
  std::vector<Job> Submit(std::vector<Job> jobs);
  size_t waiting() const;

 private:
  struct Queue {
    CachedEmbedder::Caller caller;
    std::deque<Job> jobs{};
    std::thread thread{};
  };

  void Run(Queue& queue);
  std::vector<Job> Take(Queue& queue);
  void Embed(std::vector<Job>& jobs, CachedEmbedder::Caller caller);

  const WorkerParts& parts_;
  const std::function<void(std::vector<Job>)> next_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue urgent_{CachedEmbedder::Caller::kUrgent};
  Queue bulk_{CachedEmbedder::Caller::kBulk};
  bool stopping_ = false;
};

}  // namespace winnow::dedup
