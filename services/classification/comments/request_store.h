#pragma once

#include <cstdint>
#include <optional>

#include "services/classification/comments/records.h"
#include "services/classification/comments/request_sql.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// Results of calls with a request_id. Thread-safe.
class RequestStore {
 public:
  RequestStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock, Micros retention)
      : reads_(reads), writes_(writes), clock_(clock), retention_(retention) {}

  // As Recall (request_sql.h).
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
