#pragma once

#include <cstdint>
#include <string>

#include "services/dedup/history/history.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::dedup {

// Seqs of a namespace's log, from `first` to before `end`.
struct SeqRange {
  int64_t first = 1;
  int64_t end = 1;
};

// The documents that arrived within the range: arrival never falls along seq.
StatusOr<SeqRange> SeqRangeOf(pg::Session& session, const std::string& ns, const TimeRange& range);

}  // namespace winnow::dedup
