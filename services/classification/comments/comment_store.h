#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/classification/audit/audit_entry.h"
#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

struct Imported {
  int64_t created = 0;
  int64_t updated = 0;
  int64_t unchanged = 0;
};

// Videos, their comments and their raw uploads. Thread-safe.
class CommentStore {
 public:
  // `retention`: how long a video stays after its last import.
  CommentStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : reads_(reads), writes_(writes), clock_(clock), retention_(retention) {}

  // Creates the video if needed, and extends its life to `retention` from now.
  Status TouchVideo(Deadline deadline, const VideoKey& key);
  // StoreSet a part once. Returns false, and keeps the stored part, if that has other bytes.
  StatusOr<bool> PutRawPart(Deadline deadline, const VideoKey& key, const std::string& upload,
                            int part, std::string_view bytes);
  // All parts of an upload in order. FAILED_PRECONDITION if one is missing or they exceed
  // `max_bytes` together.
  StatusOr<std::string> ReadRaw(Deadline deadline, const VideoKey& key, const std::string& upload,
                                int last_part, size_t max_bytes);
  // At most 1,000 comments with distinct IDs.
  StatusOr<Imported> PutComments(Deadline deadline, const VideoKey& key,
                                 std::span<const Comment> comments);
  StatusOr<std::vector<Comment>> NewestComments(Deadline deadline, const VideoKey& key, int count);
  // Returns how many comments were deleted.
  StatusOr<int64_t> DeleteVideo(Deadline deadline, const VideoKey& key, const Actor& actor);
  // At most `limit` videos past their expiry.
  StatusOr<std::vector<VideoKey>> ExpiredVideos(Deadline deadline, int limit);
  // Marks the video as changed for the projection.
  Status RaiseRevision(Deadline deadline, const VideoKey& key);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  const Micros retention_;
};

}  // namespace winnow::classification
