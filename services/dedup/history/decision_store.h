#pragma once

#include <string>
#include <vector>

#include "services/dedup/history/citations.h"
#include "services/dedup/log/decision.h"
#include "services/dedup/policy/policy.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::dedup {

// What callers read of the schema `dedup`. Errors: as Pool::Statements.
class DecisionStore {
 public:
  explicit DecisionStore(pg::Pool& reads) : reads_(reads) {}

  // Error: NOT_FOUND.
  StatusOr<Decision> GetDecision(Deadline deadline, const std::string& ns, const std::string& id);
  // Error: NOT_FOUND for an original that was never decided.
  StatusOr<DuplicatePage> ListDuplicates(Deadline deadline, const DuplicateQuery& query);
  StatusOr<Citations> GetCitations(Deadline deadline, const std::string& ns,
                                   const std::string& original_id);
  // What is in force for the namespace (`version` 0), or was; `initial` when it has none of its own
  // yet. Error: NOT_FOUND for a version that never was.
  StatusOr<PolicyVersion> GetPolicy(Deadline deadline, const std::string& ns, int64_t version,
                                    const Policy& initial);

  // Where a preview begins: the first seq within `window` of the newest arrival, at most `most`
  // documents before the head.
  struct Span {
    int64_t first = 1;
    int64_t last = 0;
  };
  StatusOr<Span> NewestSpan(Deadline deadline, const std::string& ns, Micros window, int64_t most);
  // Entries of the log with seq in (after, last], at most 2,000, with `model`'s vectors.
  StatusOr<std::vector<LogEntry>> ReadPage(Deadline deadline, const std::string& ns, int64_t after,
                                           int64_t last, const std::string& model);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::dedup
