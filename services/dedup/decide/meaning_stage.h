#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_parts.h"

namespace winnow::dedup {

// Gives documents the vectors of their titles before they come to the worker, several at a time:
// urgent ones by one thread, the others by another, so that a flood of bulk delays no
// call. A document without a vector in time is decided without one, and marked so.
class MeaningStage {
 public:
  // `next` takes the documents on, in the order in which each thread got them.
  MeaningStage(const DecisionParts& parts, std::function<void(std::vector<DecisionJob>)> next);
  ~MeaningStage();  // stops

  void Start();
  // Gives back what still waits.
  std::vector<DecisionJob> Stop();

  // Each job's `since` is when its time begins. Gives back those for which there is no room.
  std::vector<DecisionJob> Submit(std::vector<DecisionJob> jobs);
  size_t waiting() const;

 private:
  struct Queue {
    EmbedderWorker::Caller caller;
    std::deque<DecisionJob> jobs{};
    std::jthread thread{};
  };

  void Run(Queue& queue);
  std::vector<DecisionJob> Take(Queue& queue);
  void Embed(std::vector<DecisionJob>& jobs, EmbedderWorker::Caller caller);

  const DecisionParts& parts_;
  const std::function<void(std::vector<DecisionJob>)> next_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Queue urgent_{EmbedderWorker::Caller::kUrgent};
  Queue bulk_{EmbedderWorker::Caller::kBulk};
  std::stop_source stop_;
};

}  // namespace winnow::dedup
