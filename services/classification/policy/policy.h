#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/classification/model/linear_model.h"
#include "services/platform/base/status.h"

// How statuses come from scores and rules.
namespace winnow::classification {

struct HeadRule {
  std::string head;
  double threshold = 1;
  CommentStatus status = CommentStatus::kNone;
  std::string reason;
};

struct TextRule {
  std::string contains;
  CommentStatus status = CommentStatus::kNone;
  std::string reason;
};

struct Policy {
  std::string ns{};
  std::string name{};
  int64_t version = 0;
  std::vector<HeadRule> heads{};
  std::vector<TextRule> texts{};
  double max_failed_share = 0;
  std::optional<Time> create_time{};  // none: built in
};

// "default@1": each head of the model by the threshold its training recommends.
Policy DefaultPolicy();
// "name@version".
std::string LabelOf(const Policy& policy);

// Fills in default reasons and adds what is wrong, by field path under `prefix`.
void CheckPolicy(Policy& policy, const std::string& prefix, Violations& violations);

// A policy ready to decide by one model. Immutable.
class Decider {
 public:
  // Heads that the model does not have never decide: CheckPolicy refuses them.
  Decider(const LinearModel& model, Policy policy);

  struct Decision {
    Outcome outcome;
    int head = -1;  // that decided, or came nearest to its threshold; -1: a rule did
    Scores scores{};
  };
  Decision Decide(std::string_view text) const;

  const Policy& policy() const { return policy_; }
  const LinearModel& model() const { return model_; }

 private:
  const LinearModel& model_;
  Policy policy_;
  std::vector<int> heads_;            // of the model, by head rule
  std::vector<bool> korean_only_;     // whether the head knows nothing else, by head rule
  std::vector<std::string> needles_;  // normalised, by text rule
};

}  // namespace winnow::classification
