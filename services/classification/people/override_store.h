#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

struct OverrideRequest {
  VideoKey video;
  std::vector<std::string> comment_ids;
  CommentStatus status = CommentStatus::kNone;
  std::string reason;
  std::string actor;
  std::string note;
  bool bulk = false;
  bool dry_run = false;
  std::string action = "override";
  int64_t appeal = 0;  // the appeal that the override grants; 0: none
  RequestKey request{};
};

struct OverrideResult {
  int64_t changed = 0;
  int64_t same = 0;
  int64_t bulk = 0;  // by which the bulk can be undone; 0: it was not one
};

struct UndoRequest {
  VideoKey video;
  std::string comment_id;  // empty: the bulk
  int64_t bulk = 0;
  std::string actor;
  std::string note;
  RequestKey request{};
};

struct UndoResult {
  int64_t undone = 0;
  int64_t restored = 0;  // of these: comments whose earlier override applies again
};

// Statuses that people set: they hold in every run until they are undone. Thread-safe.
class OverrideStore {
 public:
  OverrideStore(pg::Pool& writes, const Clock& clock) : writes_(writes), clock_(clock) {}

  StatusOr<OverrideResult> Override(Deadline deadline, const OverrideRequest& request);
  StatusOr<UndoResult> UndoOverrides(Deadline deadline, const UndoRequest& request);

 private:
  pg::Pool& writes_;
  const Clock& clock_;
};

// Override() as part of a larger transaction.
StatusOr<OverrideResult> RunOverride(pg::Session& session, const OverrideRequest& request,
                                     Time now);

}  // namespace winnow::classification
