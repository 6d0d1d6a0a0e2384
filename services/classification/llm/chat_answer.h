#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/classification/llm/labels.h"

// What an OpenAI-compatible server answered, believed as little as possible.
namespace winnow::classification {

// What came over the wire, or why nothing did.
struct WireReply {
  int status = 0;  // of HTTP; 0: no answer
  std::string body{};
  std::optional<std::chrono::seconds> retry_after{};
  Failure failure = Failure::kNone;  // kDeadline or kTransient when there is no answer
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

struct ChatAnswer {
  // kNone: `labels` hold. Else nothing of the answer does.
  Failure failure = Failure::kNone;
  std::vector<int> labels{};     // by ordinal: index of the label, -1: missing or none of them
  int64_t foreign = 0;           // unknown keys; ignored
  std::optional<Usage> usage{};  // also of a failed answer: it is paid for
};

// Reads the reply to a question of `count` texts.
ChatAnswer ReadReply(const WireReply& reply, std::span<const Label> labels, size_t count);

}  // namespace winnow::classification
