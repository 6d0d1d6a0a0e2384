#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

enum class Order { kNewest, kHighest };

struct ListQuery {
  VideoKey video;
  CommentStatus status = CommentStatus::kNone;
  Order order = Order::kNewest;
  int page_size = 20;
  int64_t run = 0;  // of the previous page; 0: the active one
  std::optional<Time> after_time;
  float after_score = 0;
  int64_t after_number = 0;
};

// The verdicts that readers see. Each read is one statement, hence one snapshot and one run.
// Thread-safe.
class VerdictStore {
 public:
  explicit VerdictStore(pg::Pool& reads) : reads_(reads) {}

  // One result per ID, in order, all of one run; none for an unknown ID. For an ambiguous alias the
  // result has number -1.
  StatusOr<std::vector<std::optional<Resolved>>> GetClassifications(
      Deadline deadline, const VideoKey& key, std::span<const std::string> ids);
  struct Page {
    int64_t run = 0;
    std::vector<Resolved> items;  // one more than the page size if there are more
    // The last comment examined, when a search for unclassified comments stopped early.
    std::optional<Resolved> stopped{};
  };
  // INVALID_PAGE_TOKEN if the run of the previous page was deleted.
  StatusOr<Page> List(Deadline deadline, const ListQuery& query);
  StatusOr<Page> ListUnclassified(Deadline deadline, const ListQuery& query);
  struct Counted {
    StatusCounts counts{};
    int64_t run = 0;
  };
  StatusOr<Counted> Count(Deadline deadline, const VideoKey& key);
  // At most `count` comments with IDs after `after`, with their verdicts in `run` (0: the active
  // one).
  StatusOr<Page> Export(Deadline deadline, const VideoKey& key, int64_t run,
                        const std::string& after, int count);
  // At most `count` comments with IDs after `after` whose override differs from the run's verdict.
  StatusOr<std::vector<Resolved>> ListConflicts(Deadline deadline, const VideoKey& key,
                                                const std::string& after, int count);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::classification
