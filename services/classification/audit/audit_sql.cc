#include "services/classification/audit/audit_sql.h"

namespace winnow::classification {
namespace {

// Entries that differ in their comment alone and in what it was and is.
constexpr pg::Statement kAudit{
    "classification.audit",
    "INSERT INTO classification.audit_entries (comment_id, before, after, namespace, video_id, "
    "run, appeal, actor, action, note, create_time) SELECT u.comment_id, u.before, u.after, $4, "
    "$5, $6::bigint, $7::bigint, $8, $9, $10, $11::timestamptz "
    "FROM unnest($1::text[], $2::text[], $3::text[]) AS u(comment_id, before, after)"};

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
  session.Execute(kAudit, ids, before, after, ns, common.video_id, common.run, common.appeal,
                  common.actor, common.action, common.note, now);
}

}  // namespace winnow::classification
