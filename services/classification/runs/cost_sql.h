#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/runs/verdict_sql.h"

namespace winnow::classification {

// The cost of a call for which a reservation was made.
struct Settlement {
  int64_t reservation = 0;  // 0: there was no call
  int64_t calls = 0;
  int64_t cost_micros = 0;
};
// Replaces the reservation by the cost, once.
void Settle(pg::Session& session, int64_t run, const Settlement& settlement);
// Charges every open reservation in full: the worker that made them died before it settled them.
void ChargeReservations(pg::Session& session, int64_t run);

// Keeps verdicts of a model under `cache_name`, so that the next run need not pay for them.
void PutCache(pg::Session& session, const std::string& cache_name,
              std::span<const CommentOutcome> outcomes, Time now);
// The kept verdicts of the same texts, by comment.
std::vector<CommentOutcome> ReadCache(pg::Session& session, const std::string& cache_name,
                                      std::span<const Comment> comments);

}  // namespace winnow::classification
