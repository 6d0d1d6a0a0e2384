#include "services/classification/audit/audit_store.h"

#include "services/platform/base/hash.h"

namespace winnow::classification {
namespace {

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

StatusOr<std::vector<AuditEntry>> AuditStore::ListAudit(Deadline deadline, const std::string& ns,
                                                        const std::string& video_id, int64_t before,
                                                        int count) {
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

StatusOr<AuditStore::Changes> AuditStore::ReadChanges(Deadline deadline, const std::string& ns,
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

StatusOr<AuditStore::Head> AuditStore::ChangesHead(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Head> {
    const pqxx::row row = session.Execute(kHead)[0];
    return Head{row[0].as<uint64_t>(), Hash64(session.epoch())};
  });
}

}  // namespace winnow::classification
