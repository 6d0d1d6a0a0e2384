#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/classification/policy.h"
#include "services/classification/records.h"

namespace winnow::classification {

// What judging a batch gave. A comment without an outcome was not judged, and is asked again.
struct Judged {
  std::vector<Outcome> outcomes;  // by comment of the batch
  int64_t calls = 0;
  int64_t cost_micros = 0;
  Failure pause = Failure::kNone;  // the run cannot go on: quota, key or budget
};

// Judges comments. Two implementations: the embedded model, and a remote one.
class Classifier {
 public:
  virtual ~Classifier() = default;
  virtual size_t batch_size() const = 0;
  // Whether judging costs so much that what another run said is taken over.
  virtual bool costs() const { return false; }
  // `budget_micros`: what the run may still cost; negative: no limit. Stops early when `stop`.
  virtual Judged Judge(const Decider& decider, std::span<const Comment> comments,
                       int64_t budget_micros, const std::function<bool()>& stop) = 0;
};

// By the decider alone: no network, never fails.
class EmbeddedClassifier final : public Classifier {
 public:
  size_t batch_size() const override { return 1000; }
  Judged Judge(const Decider& decider, std::span<const Comment> comments, int64_t,
               const std::function<bool()>&) override {
    Judged judged;
    judged.outcomes.reserve(comments.size());
    for (const Comment& comment : comments) {
      judged.outcomes.push_back(decider.Decide(comment.text).outcome);
    }
    return judged;
  }
};

}  // namespace winnow::classification
