#include "services/classification/comments/comment_sql.h"
#include "services/classification/comments/comment_store.h"
#include "services/platform/base/hash.h"

// Policies, and who changed what: the audit, which watches follow.
namespace winnow::classification {
namespace {

constexpr pg::Statement kGetPolicy{
    "classification.get_policy",
    "SELECT version, body, create_time FROM classification.policies WHERE namespace = $1 AND name "
    "= $2 "
    "AND ($3::bigint = 0 OR version = $3::bigint) ORDER BY version DESC LIMIT 1"};
constexpr pg::Statement kPutPolicy{
    "classification.put_policy",
    "INSERT INTO classification.policies (namespace, name, version, body, create_time) "
    "SELECT $1, $2, $3::bigint, $5::bytea, $6::timestamptz WHERE coalesce((SELECT max(version) "
    "FROM classification.policies WHERE namespace = $1 AND name = $2), $4::bigint) = $3::bigint - "
    "1 "
    "ON CONFLICT DO NOTHING"};

#define WINNOW_AUDIT_COLUMNS \
  "id, video_id, comment_id, run, appeal, actor, action, before, after, note, create_time"
constexpr pg::Statement kListAudit{"classification.list_audit",
                                   "SELECT " WINNOW_AUDIT_COLUMNS
                                   " FROM classification.audit_entries WHERE namespace = $1 "
                                   "AND id < $2 ORDER BY id DESC LIMIT $3"};
constexpr pg::Statement kListAuditOf{"classification.list_audit_of",
                                     "SELECT " WINNOW_AUDIT_COLUMNS
                                     " FROM classification.audit_entries WHERE namespace = $1 "
                                     "AND id < $2 AND video_id = $4 ORDER BY id DESC LIMIT $3"};
// Below the oldest transaction in flight everything is settled: nothing can come before it later.
constexpr pg::Statement kChanges{
    "classification.read_changes",
    "SELECT " WINNOW_AUDIT_COLUMNS
    ", writer::text FROM classification.audit_entries "
    "WHERE namespace = $1 AND (writer, id) > ($2::text::xid8, $3::bigint) "
    "AND writer < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY writer, id LIMIT $4"};
constexpr pg::Statement kHead{"classification.changes_head",
                              "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"};

AuditEntry ToAudit(const pqxx::row& row) {
  AuditEntry entry;
  entry.id = row[0].as<int64_t>();
  entry.video_id = row[1].as<std::string>();
  entry.comment_id = row[2].as<std::string>();
  entry.run = row[3].as<int64_t>();
  entry.appeal = row[4].as<int64_t>();
  entry.actor = row[5].as<std::string>();
  entry.action = row[6].as<std::string>();
  entry.before = row[7].as<std::string>();
  entry.after = row[8].as<std::string>();
  entry.note = row[9].as<std::string>();
  entry.create_time = pg::ToTime(row[10]);
  return entry;
}

}  // namespace

StatusOr<CommentStore::PolicyRow> CommentStore::GetPolicy(Deadline deadline, const std::string& ns,
                                                          const std::string& name,
                                                          int64_t version) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<PolicyRow> {
    const pqxx::result rows = session.Execute(kGetPolicy, ns, name, version);
    if (rows.empty()) return NotFound("policy", name);
    return PolicyRow{rows[0][0].as<int64_t>(), pg::ToBytes(rows[0][1]), pg::ToTime(rows[0][2])};
  });
}

StatusOr<int64_t> CommentStore::PutPolicy(Deadline deadline, const NewPolicy& policy) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, policy.request));
    if (done) return (*done)[0];
    const int64_t version = policy.base + 1;
    const auto put = session.Execute(kPutPolicy, policy.ns, policy.name, version, policy.first,
                                     pg::ToParameterBytes(policy.body), now);
    if (put.affected_rows() == 0) {
      return Aborted(Reason::kStaleEtag, "the policy has another version now: read it again");
    }
    AddAudit(session, policy.ns, policy.audit, now);
    WINNOW_RETURN_IF_ERROR(Remember(session, policy.request, 0, {version}, now));
    return version;
  });
}

StatusOr<std::vector<AuditEntry>> CommentStore::ListAudit(Deadline deadline, const std::string& ns,
                                                          const std::string& video_id,
                                                          int64_t before, int count) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<AuditEntry>> {
        const pqxx::result rows = video_id.empty()
                                      ? session.Execute(kListAudit, ns, before, count)
                                      : session.Execute(kListAuditOf, ns, before, count, video_id);
        std::vector<AuditEntry> entries;
        for (const pqxx::row& row : rows) entries.push_back(ToAudit(row));
        return entries;
      });
}

StatusOr<CommentStore::Changes> CommentStore::ReadChanges(Deadline deadline, const std::string& ns,
                                                          uint64_t writer, int64_t id, int count) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Changes> {
    Changes changes;
    changes.epoch = Hash64(session.epoch());
    for (const pqxx::row& row : session.Execute(kChanges, ns, std::to_string(writer), id, count)) {
      changes.entries.push_back({ToAudit(row), row[11].as<uint64_t>()});
    }
    return changes;
  });
}

StatusOr<CommentStore::Head> CommentStore::ChangesHead(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Head> {
    const pqxx::row row = session.Execute(kHead)[0];
    return Head{row[0].as<uint64_t>(), Hash64(session.epoch())};
  });
}

}  // namespace winnow::classification
