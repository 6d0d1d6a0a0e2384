#include "services/classification/comments/request_store.h"

namespace winnow::classification {
namespace {

constexpr pg::Statement kSweep{
    "classification.sweep_requests",
    "DELETE FROM classification.requests WHERE (namespace, method, request_id) IN "
    "(SELECT namespace, method, request_id FROM classification.requests "
    "WHERE create_time < $1::timestamptz ORDER BY create_time LIMIT $2)"};

}  // namespace

StatusOr<std::optional<Numbers>> RequestStore::FindRequest(Deadline deadline,
                                                           const RequestKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) { return Recall(session, key); });
}

StatusOr<int64_t> RequestStore::SweepRequests(Deadline deadline, int limit) {
  const Time oldest = clock_.Now() - retention_;
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return static_cast<int64_t>(session.Execute(kSweep, oldest, limit).affected_rows());
  });
}

}  // namespace winnow::classification
