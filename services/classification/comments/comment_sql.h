#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::classification {

// A change of a video's statuses locks the video's row first: verdicts share the lock; overrides,
// swaps and new runs hold it exclusively. Counts and resolved statuses change in the same
// transaction, and are therefore exact.
enum class Lock { kShare, kUpdate };
struct VideoRow {
  int64_t number = 0;
  int64_t active_run = 0;
  int64_t previous_run = 0;
  int64_t comment_count = 0;
};
// NOT_FOUND.
StatusOr<VideoRow> LockVideo(pg::Session& session, const VideoKey& key, Lock lock);
StatusOr<VideoRow> FindVideo(pg::Session& session, const VideoKey& key);

// Looks each ID up as an ID, then as an alias. Results are in the order of `ids`.
std::vector<FoundComment> FindComments(pg::Session& session, int64_t video,
                                       std::span<const std::string> ids);

}  // namespace winnow::classification
