#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/platform/postgres/log_transaction.h"

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

// How many articles a log transaction takes, so that it holds the lock for about 10 ms on this
// machine.
class LogBatch {
 public:
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  void Learn(size_t articles, std::chrono::steady_clock::duration held) {
    if (held > std::chrono::milliseconds(15)) {
      size_ = std::max(kLeast, size() * 3 / 4);
    } else if (held < std::chrono::milliseconds(8) && articles >= size()) {
      size_ = std::min(kMost, size() * 5 / 4);
    }
  }

 private:
  static constexpr size_t kLeast = 50;
  static constexpr size_t kMost = 500;
  std::atomic<size_t> size_ = 200;
};

}  // namespace winnow::newsfeed
