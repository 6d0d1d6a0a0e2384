#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/function_ref.h"
#include "services/platform/base/status.h"

// Raw comments of every shape that is seen in the wild (CommentShape in the proto has them).
namespace winnow::classification {

// RFC 3339 as YouTube writes it ("2024-05-01T12:00:00Z", fractions and offsets too), without an
// offset UTC, or seconds since 1970; nothing for anything else ("2 years ago").
std::optional<Time> ParseRawTime(std::string_view text);

enum class Shape { kNone = 0, kYouTubeApi = 1, kNested = 2, kJsonl = 3, kFlat = 4, kCsv = 5 };

struct Skipped {
  int64_t position = 0;
  std::string id;
  std::string why;
};

struct ParseReport {
  Shape shape = Shape::kNone;
  int64_t comments = 0;  // handed on or skipped
  int64_t missing_replies = 0;
  int64_t skipped_count = 0;
  std::vector<Skipped> skipped;  // the first 100
};

// Most bytes of a comment that are taken; longer ones are skipped by name.
inline constexpr size_t kMaxCommentBytes = 80'000;

// Reads all comments and hands each valid one on, in the order of the file; a comment with id
// beyond the rules, without text or over-long is skipped, and reported. Stops when `take` fails.
// Errors: INVALID_ARGUMENT on `field` when the bytes are of no known shape or broken, with the
// place; comments before it were handed on.
StatusOr<ParseReport> ParseComments(std::string_view bytes, const std::string& field,
                                    FunctionRef<Status(Comment)> take);

}  // namespace winnow::classification
