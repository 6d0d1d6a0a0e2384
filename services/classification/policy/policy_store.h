#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "services/classification/audit/audit_entry.h"
#include "services/classification/comments/comment_records.h"
#include "services/classification/policy/policy.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::classification {

// The versions of policies, which never change. Thread-safe.
class PolicyStore {
 public:
  PolicyStore(pg::Pool& reads, pg::Pool& writes, const Clock& clock)
      : reads_(reads), writes_(writes), clock_(clock) {}

  struct PolicyRow {
    int64_t version = 0;
    std::string body;  // see policy_codec.h
    Time create_time;
  };
  // Version 0 is the newest. NOT_FOUND.
  StatusOr<PolicyRow> GetPolicy(Deadline deadline, const std::string& ns, const std::string& name,
                                int64_t version);
  struct NewPolicy {
    std::string ns;
    std::string name;
    int64_t base = 0;   // the version that it replaces
    int64_t first = 0;  // the version taken as the newest while none is stored
    std::string body;
    AuditEntry audit;
    RequestKey request{};
  };
  // Returns the new version. ABORTED (STALE_ETAG) unless `base` is the newest one.
  StatusOr<int64_t> PutPolicy(Deadline deadline, const NewPolicy& policy);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
  const Clock& clock_;
};

// Policies ready to decide. A version never changes, so those that were read are kept (a few).
class CachedPolicyStore {
 public:
  explicit CachedPolicyStore(PolicyStore& store) : store_(store) {}

  // Version 0 is the newest; "default" has version 1 unless one was written. NOT_FOUND.
  StatusOr<std::shared_ptr<const Decider>> Get(Deadline deadline, const std::string& ns,
                                               const std::string& name, int64_t version);

 private:
  static constexpr size_t kKept = 64;

  PolicyStore& store_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Decider>> kept_;
};

}  // namespace winnow::classification
