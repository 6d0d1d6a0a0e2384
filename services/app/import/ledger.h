#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_set>

#include "services/app/import/checkpoint.h"
#include "services/app/import/item_sender.h"

namespace winnow::app {

// The books of an import: every settled line is in one of the tally's sums or among the undecided.
class Ledger {
 public:
  // Goes on from a checkpoint; an empty one for a new import.
  explicit Ledger(Checkpoint start) : books_(std::move(start)) {}

  // Whether the line's item is new here and its decision is to be awaited.
  bool Settled(int64_t line, const LineResult& result);
  void Decided(const std::string& id, bool duplicate);

  Tally tally() const;
  // The latest item that was accepted, by its id, which grows with time; empty: none.
  std::string last_accepted() const;
  Checkpoint Snapshot() const;

 private:
  bool IsNew(const Stored& stored);

  mutable std::mutex mutex_;
  Checkpoint books_;
  std::string last_accepted_;
  std::deque<std::string> recent_;  // ids that were new, as many as can be in flight twice over
  std::unordered_set<std::string> recent_set_;
};

}  // namespace winnow::app
