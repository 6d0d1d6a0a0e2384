#include "services/classification/audit/audit_store.h"

#include "services/classification/audit/audit_store.sql.h"
#include "services/platform/base/hash.h"

namespace winnow::classification {
namespace {

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

void AddAudit(pg::Session& session, const std::string& ns, const AuditEntry& entry, Time now) {
  const AuditedComment one{entry.comment_id, entry.before, entry.after};
  AddAudits(session, ns, entry, {&one, 1}, now);
}

void AddAudits(pg::Session& session, const std::string& ns, const AuditEntry& common,
               std::span<const AuditedComment> comments, Time now) {
  if (comments.empty()) return;
  pg::BinaryArray ids(pg::BinaryArray::kText);
  pg::BinaryArray before(pg::BinaryArray::kText);
  pg::BinaryArray after(pg::BinaryArray::kText);
  for (const AuditedComment& one : comments) {
    ids.AddText(one.id);
    before.AddText(one.before);
    after.AddText(one.after);
  }
  session.Execute(sql::kAudit, ids, before, after, ns, common.video_id, common.run, common.appeal,
                  common.actor, common.action, common.note, now);
}

StatusOr<std::vector<AuditEntry>> AuditStore::ListAudit(Deadline deadline, const std::string& ns,
                                                        const std::string& video_id, int64_t before,
                                                        int count) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<AuditEntry>> {
        const pqxx::result rows =
            video_id.empty() ? session.Execute(sql::kListAudit, ns, before, count)
                             : session.Execute(sql::kListAuditOf, ns, before, count, video_id);
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
    for (const pqxx::row& row :
         session.Execute(sql::kReadChanges, ns, std::to_string(writer), id, count)) {
      changes.entries.push_back({ToAudit(row), row[11].as<uint64_t>()});
    }
    return changes;
  });
}

StatusOr<AuditStore::Head> AuditStore::ChangesHead(Deadline deadline) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Head> {
    const pqxx::row row = session.Execute(sql::kChangesHead)[0];
    return Head{row[0].as<uint64_t>(), Hash64(session.epoch())};
  });
}

}  // namespace winnow::classification
