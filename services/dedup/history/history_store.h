#pragma once

#include <string>

#include "services/dedup/history/citations.h"
#include "services/dedup/history/history.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::dedup {

// Decisions as they are looked at later. Errors: as Pool::Statements.
class HistoryStore {
 public:
  HistoryStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  StatusOr<DecisionPage> ListDecisions(Deadline deadline, const DecisionQuery& query);
  StatusOr<TopPage> ListTopCited(Deadline deadline, const TopQuery& query);
  StatusOr<ReviewPage> ListReviewQueue(Deadline deadline, const ReviewQuery& query);
  StatusOr<Stats> GetStats(Deadline deadline, const std::string& ns, const TimeRange& range);
  // The decision with what was said. Errors: NOT_FOUND, FAILED_PRECONDITION.
  StatusOr<Decision> Override(Deadline deadline, const OverrideRequest& request);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

// Sets what people said about these decisions, all of one namespace.
void AddOverrides(pg::Session& session, const std::string& ns, std::vector<Decision*> decisions);

// Decisions with seq in (after, until] in their order, at most `limit`, with their seqs.
struct NumberedDecision {
  int64_t seq = 0;
  Decision decision;
};
std::vector<NumberedDecision> ReadDecisionsAfter(pg::Session& session, const std::string& ns,
                                                 int64_t after, int64_t until, int limit);

}  // namespace winnow::dedup
