#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/platform/postgres/log/log_transaction.h"

// The one log of all feeds: what every change of an article leaves there.
namespace winnow::newsfeed {

const pg::Stream& FeedsStream();

enum class ChangeKind { kCreated = 1, kEdited = 2, kDeleted = 3, kCited = 4, kRestored = 5 };

struct Change {
  std::string ns;
  std::string id;
  ChangeKind kind = ChangeKind::kEdited;
  std::vector<std::string> left_feeds{};
};

// Where a transaction's changes stand in the log; enough to find out whether it was committed.
struct LogReceipt {
  int64_t first = 0;  // 0: it changed no article
  std::string ns;
  std::string id;
};

// The first statement of a log transaction. Its statements join a few rows with large tables: plans
// made while those were small (and kept since) must not read them whole.
void PlanByIndex(pg::Session& session);

// Gives each change the next position, in order, and marks their namespaces as fresh.
LogReceipt AppendChanges(pg::LogSession& log, std::span<const Change> changes);

// Whether the transaction with this receipt is known to be committed. One that changed no article
// left no trace: false, and doing it again changes nothing.
StatusOr<bool> IsCommitted(pg::Session& session, const LogReceipt& receipt);

}  // namespace winnow::newsfeed
