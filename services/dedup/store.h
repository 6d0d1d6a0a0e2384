#pragma once

#include <string>

#include "services/dedup/citations.h"
#include "services/dedup/decision.h"
#include "services/dedup/policy.h"
#include "services/platform/clock.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/status.h"

namespace winnow::dedup {

// What callers read of the schema `dedup`. Errors: as Pool::Read.
class Store {
 public:
  explicit Store(pg::Pool& reads) : reads_(reads) {}

  // Error: NOT_FOUND.
  StatusOr<Decision> GetDecision(Deadline deadline, const std::string& ns, const std::string& id);
  // Error: NOT_FOUND for an original that was never decided.
  StatusOr<DuplicatePage> ListDuplicates(Deadline deadline, const DuplicateQuery& query);
  StatusOr<Citations> GetCitations(Deadline deadline, const std::string& ns,
                                   const std::string& original_id);
  // What is in force for the namespace; `initial` when it has none of its own yet.
  StatusOr<Policy> GetPolicy(Deadline deadline, const std::string& ns, const Policy& initial);

 private:
  pg::Pool& reads_;
};

}  // namespace winnow::dedup
