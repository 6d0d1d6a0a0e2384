#include "services/classification/comments/request_store.h"

#include "services/classification/comments/request_store.sql.h"

namespace winnow::classification {
StatusOr<std::optional<Numbers>> Recall(pg::Session& session, const RequestKey& key) {
  if (key.id.empty()) return std::optional<Numbers>();
  const pqxx::result rows = session.Execute(sql::kRecallRequest, key.ns, key.method, key.id);
  if (rows.empty()) return std::optional<Numbers>();
  if (static_cast<uint64_t>(rows[0][0].as<int64_t>()) != key.content) {
    return InvalidField("request_id",
                        "was already used by a call with other parameters: use a new request_id");
  }
  return std::optional<Numbers>(
      Numbers{rows[0][1].as<int64_t>(), rows[0][2].as<int64_t>(), rows[0][3].as<int64_t>()});
}

Status Remember(pg::Session& session, const RequestKey& key, int64_t video, const Numbers& numbers,
                Time now) {
  if (key.id.empty()) return OkStatus();
  pg::Array array;
  for (const int64_t number : numbers) array.Add(number);
  const auto put = session.Execute(sql::kRememberRequest, key.ns, key.method, key.id,
                                   static_cast<int64_t>(key.content), video, array, now);
  if (put.affected_rows() == 1) return OkStatus();
  return Aborted(Reason::kWriteConflict, "the same request_id came twice at once: send it again");
}

StatusOr<std::optional<Numbers>> RequestStore::FindRequest(Deadline deadline,
                                                           const RequestKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) { return Recall(session, key); });
}

StatusOr<int64_t> RequestStore::SweepRequests(Deadline deadline, int limit) {
  const Time oldest = clock_.Now() - retention_;
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    return static_cast<int64_t>(
        session.Execute(sql::kSweepRequests, oldest, limit).affected_rows());
  });
}

}  // namespace winnow::classification
