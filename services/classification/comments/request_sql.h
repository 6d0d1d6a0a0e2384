#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "services/classification/comments/records.h"
#include "services/platform/base/status.h"
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

}  // namespace winnow::classification
