#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// The one way errors travel inside Winnow. absl stays behind this header: on Debian its string_view
// and optional are not the standard's. platform/grpc/errors/error_exit.h turns these into gRPC
// statuses.
namespace winnow {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() { return Status(); }
inline std::string Message(const Status& status) { return std::string(status.message()); }

// winnow.common.v1.ErrorReason, by the same names and numbers (a test holds them together).
enum class Reason {
  kUnspecified = 0,
  kInvalidField = 1,
  kInvalidPageToken = 2,
  kResourceNotFound = 3,
  kResourceAlreadyExists = 4,
  kStateForbids = 5,
  kStaleEtag = 6,
  kWriteConflict = 7,
  kDeadlineTooShort = 8,
  kOverloaded = 9,
  kStoreUnavailable = 10,
  kPeerUnavailable = 11,
  kBrokerUnavailable = 12,
  kShuttingDown = 13,
  kReaderTooSlow = 14,
  kUnauthenticated = 15,
  kInternal = 16,
  kCancelled = 17,
  kRedisUnavailable = 18,
  kStaleToken = 19,
  kWindowLoading = 20,
};

// One thing wrong with a request. `field` is a path as callers write it: "items[3].title".
struct Violation {
  std::string field;
  std::string description;  // what is wrong, the limit, and what to do
};

// Collects all violations of a request, so that a caller can fix them at once.
class Violations {
 public:
  void Add(std::string field, std::string description);
  bool empty() const { return violations_.empty(); }
  size_t size() const { return violations_.size(); }
  const std::vector<Violation>& all() const { return violations_; }
  // OK if there is none, else INVALID_ARGUMENT with all.
  Status ToStatus() const;

 private:
  std::vector<Violation> violations_;
};

// Makers, one per row of the error table (ARCHITECTURE.md). `retry_after` is a hint to the caller.
Status InvalidArgument(std::vector<Violation> violations);
Status InvalidField(std::string field, std::string description);
Status InvalidPageToken(std::string why);
Status NotFound(std::string_view resource, std::string_view id);
// `what` says what of it is taken.
Status AlreadyExists(std::string_view resource, std::string_view id,
                     std::string_view what = "already exists");
Status FailedPrecondition(std::string why, Reason reason = Reason::kStateForbids);
Status Aborted(Reason reason, std::string why);
Status DeadlineExceeded(std::string why);
Status Overloaded(std::string what, std::chrono::milliseconds retry_after);
Status Unavailable(Reason reason, std::string what, std::chrono::milliseconds retry_after);
// What the caller sees of it is a fixed text and the request id; `detail` goes to the log only.
Status Internal(std::string detail);

// What the makers put in, read back. Statuses made elsewhere have kUnspecified and nothing else.
Reason ReasonOf(const Status& status);
std::vector<Violation> ViolationsOf(const Status& status);
std::optional<std::chrono::milliseconds> RetryAfterOf(const Status& status);
// Metadata of the ErrorInfo: "resource" and "id" of kResourceNotFound and kResourceAlreadyExists.
std::vector<std::pair<std::string, std::string>> MetadataOf(const Status& status);

// Returns from the calling function when `expr` is not OK.
#define WINNOW_RETURN_IF_ERROR(expr)                        \
  do {                                                      \
    if (auto winnow_status = (expr); !winnow_status.ok()) { \
      return winnow_status;                                 \
    }                                                       \
  } while (false)

#define WINNOW_CONCAT_(a, b) a##b
#define WINNOW_CONCAT(a, b) WINNOW_CONCAT_(a, b)
// WINNOW_ASSIGN_OR_RETURN(auto page, ReadPage()): declares `page`, or returns the error.
#define WINNOW_ASSIGN_OR_RETURN(lhs, expr) \
  WINNOW_ASSIGN_OR_RETURN_(WINNOW_CONCAT(winnow_or_, __LINE__), lhs, expr)
#define WINNOW_ASSIGN_OR_RETURN_(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = *std::move(tmp)

}  // namespace winnow
