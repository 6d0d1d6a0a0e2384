#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/classification/runs/run_sql.h"

namespace winnow::classification {

// The outcome of a comment, by its number; content_hash is of the text that was judged.
struct CommentOutcome {
  int64_t comment = 0;
  uint64_t content_hash = 0;
  Outcome outcome;
};

// kKnown: the run had an outcome for this content. kIgnored: the comment is newer than the run's
// input.
enum class WriteResult { kWritten, kKnown, kIgnored };

struct Written {
  std::vector<WriteResult> results;  // of the outcomes, in their order
  bool complete = false;
  bool active = false;  // the run is the one that readers see
  int64_t missing = 0;  // comments of the input without an outcome
};

// A comment whose resolved status changed.
struct StatusChange {
  int64_t comment = 0;
  CommentStatus before = CommentStatus::kNone;
  CommentStatus after = CommentStatus::kNone;
};
// Writes outcomes of distinct comments into a locked run, with its counts, the resolved statuses
// and, if nothing is missing, its end. Appends changed statuses to `changes` unless it is null.
Written WriteVerdicts(pg::Session& session, const LockedRun& run,
                      std::span<const CommentOutcome> outcomes, Time now,
                      std::vector<StatusChange>* changes = nullptr);

// Adds an audit entry per change to the log of the run's video.
void AddChanges(pg::Session& session, const Run& run, const std::string& actor,
                std::span<const StatusChange> changes, Time now);

}  // namespace winnow::classification
