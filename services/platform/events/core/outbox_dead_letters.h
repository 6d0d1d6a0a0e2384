#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::events {

// The dead letters of deliveries in process: rows of <schema>.dead_letters. A replay puts them back
// into the outbox of their schema, in one transaction.
class OutboxDeadLetters final : public DeadLetters {
 public:
  explicit OutboxDeadLetters(pg::Pool& pool) : pool_(pool) {}  // outlives this

  void AddSchema(const std::string& schema);

  StatusOr<std::vector<DeadLetterRecord>> List(Deadline deadline,
                                               const DeadLetterSelection& selection,
                                               const std::optional<DeadLetterKey>& after,
                                               size_t limit) override;
  StatusOr<DeadLetterOutcome> Apply(Deadline deadline, const DeadLetterSelection& selection,
                                    DeadLetterAction action) override;

 private:
  std::vector<std::string> Schemas() const;

  pg::Pool& pool_;
  mutable std::mutex mutex_;
  std::set<std::string> schemas_;
};

}  // namespace winnow::events
