#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "services/classification/comments/comment_records.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::classification {

// The result of a call with a request_id, as numbers that its method interprets.
using Numbers = std::array<int64_t, 3>;

// The result of the earlier call with this request_id; none if it is new or empty.
// INVALID_ARGUMENT if the earlier call had other parameters.
StatusOr<std::optional<Numbers>> Recall(pg::Session& session, const RequestKey& key);
// StoreSet a result in the transaction of the call. `video`: deleted together with it; 0: none.
// ABORTED if a concurrent call with the same request_id committed first.
Status Remember(pg::Session& session, const RequestKey& key, int64_t video, const Numbers& numbers,
                Time now);

// Results of calls with a request_id. Thread-safe.
class RequestStore {
 public:
  RequestStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : reads_(reads), writes_(writes), clock_(clock), retention_(retention) {}

  // As Recall.
  StatusOr<std::optional<Numbers>> FindRequest(Deadline deadline, const RequestKey& key);
  // Deletes at most `limit` results older than `retention`; returns how many.
  StatusOr<int64_t> SweepRequests(Deadline deadline, int limit);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
  const Micros retention_;
};

}  // namespace winnow::classification
