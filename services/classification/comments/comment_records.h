#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "services/platform/base/clock.h"

// Plain data of the service. The numbers of the enums are the API's, and stored.
namespace winnow::classification {

enum class CommentStatus { kNone = 0, kNormal = 1, kFiltered = 2, kSuggestion = 3 };
enum class Source { kNone = 0, kRule = 1, kModel = 2, kFallback = 3, kExternal = 4, kOverride = 5 };
enum class Failure {
  kNone = 0,
  kTransient = 1,
  kRateLimit = 2,
  kQuota = 3,
  kAuth = 4,
  kTruncated = 5,
  kSchema = 6,
  kRefused = 7,
  kCanary = 8,
  kDeadline = 9,
  kBudget = 10
};
inline constexpr size_t kFailures = 11;

inline constexpr size_t kStatuses = 4;
using StatusCounts = std::array<int64_t, kStatuses>;  // by CommentStatus; kNone: unclassified

inline constexpr float kNoScore = -1;  // absent

// A comment as it is stored.
struct Comment {
  int64_t number = 0;  // of the store; 0 before it is stored
  std::string id;
  std::string alias;  // of a reply: the part after the last dot; else empty
  std::string parent_id;
  std::string text;
  std::optional<Time> publish_time;
  std::optional<Time> update_time;
  uint64_t content_hash = 0;
};

// What a run says of one comment: a status, or a failure.
struct Outcome {
  CommentStatus status = CommentStatus::kNone;
  Failure failure = Failure::kNone;
  Source source = Source::kNone;
  float score = kNoScore;
  std::string reason;
};

struct VideoKey {
  std::string ns;
  std::string video_id;
};

// A run or an appeal of a namespace, by the number behind its id.
struct NumberKey {
  std::string ns;
  int64_t id = 0;
};

// A call that may come again.
struct RequestKey {
  std::string ns{};
  std::string method{};
  std::string id{};      // empty: it has none
  uint64_t content = 0;  // hash of all that it asks for
};

// A comment found by ID or alias.
struct FoundComment {
  int64_t number = 0;      // 0: unknown
  bool ambiguous = false;  // the alias belongs to several comments
  uint64_t content_hash = 0;
  std::string id;  // in full, also when it was found by its alias
};

// The one verdict of a comment, as readers see it.
struct Resolved {
  std::string comment_id;
  CommentStatus status = CommentStatus::kNone;
  CommentStatus own_status = CommentStatus::kNone;  // of the run
  std::string reason;
  float score = kNoScore;
  Source source = Source::kNone;
  Failure failure = Failure::kNone;
  int64_t run = 0;
  std::string model;
  std::string policy;
  int64_t policy_version = 0;
  bool stale = false;
  bool overridden = false;
  Time sort_time;
  int64_t number = 0;  // of the comment
  std::optional<Time> decide_time;
  std::string actor;  // of the override
  std::optional<Time> override_time;
};

// "normal", "filtered", "content_suggestion", "unclassified".
const char* NameOf(CommentStatus status);
const char* NameOf(Source source);
const char* NameOf(Failure failure);

// Whether `id` is [A-Za-z0-9_.-]{1,128} and not the reserved "_metadata".
bool IsCommentId(const std::string& id);
bool IsVideoId(const std::string& id);
// [a-z0-9_]{0,64}.
bool IsReason(const std::string& reason);

}  // namespace winnow::classification
