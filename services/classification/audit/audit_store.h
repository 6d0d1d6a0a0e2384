#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/audit/audit_entry.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
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

// Reads the audit log. Thread-safe.
class AuditStore {
 public:
  explicit AuditStore(pg::Pool& reads) : reads_(reads) {}

  // At most `count` entries with IDs below `before`, newest first; of all videos if `video_id` is
  // empty.
  StatusOr<std::vector<AuditEntry>> ListAudit(Deadline deadline, const std::string& ns,
                                              const std::string& video_id, int64_t before,
                                              int count);

  struct Change {
    AuditEntry entry;
    uint64_t writer = 0;  // the transaction that wrote it
  };
  struct Changes {
    std::vector<Change> entries;
    uint64_t epoch = 0;  // of the database's history: `writer` numbers of another are unrelated
  };
  // At most `count` entries after (`writer`, `id`), of transactions older than any still running:
  // no earlier entry can appear later.
  StatusOr<Changes> ReadChanges(Deadline deadline, const std::string& ns, uint64_t writer,
                                int64_t id, int count);
  struct Head {
    uint64_t writer = 0;
    uint64_t epoch = 0;
  };
  // The position at which a watch that starts now begins.
  StatusOr<Head> ChangesHead(Deadline deadline);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::classification
