#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
enum class RunState {
  kNone = 0,
  kPending = 1,
  kRunning = 2,
  kPaused = 3,
  kComplete = 4,
  kCancelled = 5
};

inline constexpr size_t kStatuses = 4;
using StatusCounts = std::array<int64_t, kStatuses>;  // by CommentStatus; kNone: unclassified

enum class AppealState { kNone = 0, kOpen = 1, kGranted = 2, kRejected = 3 };

inline constexpr float kNoScore = -1;  // nobody gave one

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

struct Run {
  int64_t id = 0;
  VideoKey video;
  std::string classifier;
  std::string model;
  std::string policy;
  int64_t policy_version = 0;
  RunState state = RunState::kNone;
  bool activate = false;
  int64_t input_count = 0;
  int64_t classified = 0;
  int64_t failed = 0;
  StatusCounts counts{};
  bool active = false;
  int64_t calls = 0;
  int64_t cost_micros = 0;
  int64_t budget_micros = 0;
  Failure pause_reason = Failure::kNone;
  Time create_time;
  std::optional<Time> end_time;
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

struct AuditEntry {
  int64_t id = 0;
  std::string video_id{};
  std::string comment_id{};
  int64_t run = 0;
  int64_t appeal = 0;
  std::string actor{};
  std::string action{};
  std::string before{};
  std::string after{};
  std::string note{};
  Time create_time{};
};

struct Appeal {
  int64_t id = 0;
  VideoKey video;
  std::string comment_id;
  CommentStatus status = CommentStatus::kNone;
  AppealState state = AppealState::kNone;
  std::string actor;
  std::string note;
  Time create_time;
  std::string resolver;
  std::string resolve_note;
  std::optional<Time> resolve_time;
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
