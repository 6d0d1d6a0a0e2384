#include "services/app/import/ledger.h"

#include <algorithm>

namespace winnow::app {
namespace {

constexpr size_t kRecentIds = 10'000;

}  // namespace

bool Ledger::Settled(int64_t line, const LineResult& result) {
  const std::lock_guard lock(mutex_);
  books_.last_line = line;
  ++books_.tally.lines;
  if (const auto* refusal = std::get_if<Refusal>(&result)) {
    ++books_.tally.refused_by_reason[refusal->reason];
    return false;
  }
  const auto& stored = std::get<Stored>(result);
  if (!IsNew(stored)) {
    ++books_.tally.already_present;
    return false;
  }
  books_.undecided.insert(stored.id);
  return true;
}

// Two lines of a file may be one item. Sent again over a new connection both count as stored by
// this import (item_sender.h), and only one of them is new.
bool Ledger::IsNew(const Stored& stored) {
  if (!stored.created || !recent_set_.insert(stored.id).second) return false;
  recent_.push_back(stored.id);
  if (recent_.size() > kRecentIds) {
    recent_set_.erase(recent_.front());
    recent_.pop_front();
  }
  return true;
}

void Ledger::Decided(const std::string& id, bool duplicate) {
  const std::lock_guard lock(mutex_);
  if (books_.undecided.erase(id) == 0) return;
  ++(duplicate ? books_.tally.duplicates : books_.tally.accepted);
  if (!duplicate) last_accepted_ = std::max(last_accepted_, id);
}

std::string Ledger::last_accepted() const {
  const std::lock_guard lock(mutex_);
  return last_accepted_;
}

Tally Ledger::tally() const {
  const std::lock_guard lock(mutex_);
  return books_.tally;
}

Checkpoint Ledger::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return books_;
}

}  // namespace winnow::app
