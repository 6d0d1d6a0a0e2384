#pragma once

#include <string>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/classification/policy/policy.h"

namespace winnow::classification {

// An answer that a language model may give for a comment under a policy.
struct Label {
  std::string name;     // "normal", "content_suggestion", "filtered_spam"
  std::string head;     // of the policy's rule; empty for what no rule says
  std::string meaning;  // part of the prompt
  CommentStatus status = CommentStatus::kNone;
  std::string reason;
};

// "normal" first, then one for each pair of status and reason that the policy's heads give.
std::vector<Label> LabelsOf(const Policy& policy);

}  // namespace winnow::classification
