#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/classification/policy/policy.h"
#include "services/platform/base/status.h"

namespace winnow::classification {

// What became known of some comments, and what it cost. Delivered, it is durable.
struct Delivery {
  std::vector<std::pair<size_t, Outcome>> outcomes;  // by index of the task's comments
  int64_t calls = 0;
  int64_t cost_micros = 0;
  int64_t reservation = 0;  // that this delivery settles; 0: none
};

// Takes the outcomes of a task. Thread-safe.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  // An error ends the task.
  virtual Status Deliver(const Delivery& delivery) = 0;
  // Reserves the cost of a call before it is made. Returns the reservation, or 0 if it exceeds the
  // run's budget.
  virtual StatusOr<int64_t> Reserve(int64_t micros) = 0;
  // Whether the task's remaining outcomes are no longer needed.
  virtual bool IsStopped() const = 0;
};

// Comments to judge.
struct Task {
  const Decider& decider;
  std::span<const Comment> comments;
  TaskSink& sink;
};

// Judges comments. Two implementations: the embedded model, and a remote one.
class Classifier {
 public:
  virtual ~Classifier() = default;
  // Comments of a task, at most.
  virtual size_t batch_size() const = 0;
  // Names what a verdict depends on beside the text, where verdicts cost so much that they are
  // kept for the next run; empty: they are not.
  virtual std::string CacheName(const Decider&) const { return ""; }
  // Delivers an outcome for each comment, unless the task is stopped or the run must pause: then
  // the answer says why. Errors of the sink are returned.
  virtual StatusOr<Failure> Judge(const Task& task) = 0;
};

// By the decider alone: no network, never fails.
class EmbeddedClassifier final : public Classifier {
 public:
  size_t batch_size() const override { return 1000; }
  StatusOr<Failure> Judge(const Task& task) override {
    Delivery delivery;
    delivery.outcomes.reserve(task.comments.size());
    for (size_t i = 0; i < task.comments.size(); ++i) {
      delivery.outcomes.emplace_back(i, task.decider.Decide(task.comments[i].text).outcome);
    }
    WINNOW_RETURN_IF_ERROR(task.sink.Deliver(delivery));
    return Failure::kNone;
  }
};

}  // namespace winnow::classification
