#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/classification/audit/audit_entry.h"
#include "services/classification/comments/verdict_store.h"
#include "services/classification/people/appeal.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// Appeals against verdicts, and their resolutions. Thread-safe.
class AppealStore {
 public:
  AppealStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, VerdictStore& verdicts)
      : reads_(reads), writes_(writes), clock_(clock), verdicts_(verdicts) {}

  struct NewAppeal {
    VideoKey video;
    std::string comment_id;
    Actor author;
    RequestKey request{};
  };
  StatusOr<Appeal> CreateAppeal(Deadline deadline, const NewAppeal& made);
  StatusOr<Appeal> GetAppeal(Deadline deadline, const NumberKey& key);
  struct AppealQuery {
    std::string ns;
    std::string video_id;                    // empty: all
    AppealState state = AppealState::kNone;  // kNone: all
    int64_t before = 0;
    int count = 0;
  };
  // At most `count` appeals with IDs below `before`, newest first.
  StatusOr<std::vector<Appeal>> ListAppeals(Deadline deadline, const AppealQuery& query);
  struct Resolution {
    NumberKey appeal;
    AppealState state = AppealState::kNone;  // kGranted, kRejected
    CommentStatus status = CommentStatus::kNone;
    Actor author;
    RequestKey request{};
  };
  // Granting an appeal overrides the comment's status. FAILED_PRECONDITION if it is resolved.
  StatusOr<Appeal> ResolveAppeal(Deadline deadline, const Resolution& resolution);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  VerdictStore& verdicts_;
};

}  // namespace winnow::classification
