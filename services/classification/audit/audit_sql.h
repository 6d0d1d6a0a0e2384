#pragma once

#include <span>
#include <string>

#include "services/classification/audit/audit_entry.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::classification {

// Adds one entry in the caller's transaction.
void AddAudit(pg::Session& session, const std::string& ns, const AuditEntry& entry, Time now);

struct AuditedComment {
  std::string id{};
  std::string before{};
  std::string after{};
};
// Adds one entry per comment, in one statement; `common` holds the fields that they share.
void AddAudits(pg::Session& session, const std::string& ns, const AuditEntry& common,
               std::span<const AuditedComment> comments, Time now);

}  // namespace winnow::classification
