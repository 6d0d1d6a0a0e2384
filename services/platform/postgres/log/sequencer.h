#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/platform/postgres/log/log_transaction.h"

// Positions for rows that were committed in any order: for watches of registries and runs, whose
// writers must not wait for one lock as those of the commit-ordered log do.
namespace winnow::pg {

// Rows of <stream.schema>.<table>, which is made with
//   <key> a unique, indexed column: a bigint identity, or a UUID version 7
//   position bigint                                     -- NULL until the sequencer comes by
//   CREATE INDEX ON <table> (<key>) WHERE position IS NULL
//   CREATE UNIQUE INDEX ON <table> (position) WHERE position IS NOT NULL
// The last position stands in <stream.schema>.log_streams (LogStreamsDdl). Positions grow without
// gaps, also after rows were deleted; of rows that become visible together, in order of <key>; and
// a row that was committed before another was begun comes first. Followed by a Tailer on `stream`,
// which reads `WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3`: it never misses
// or repeats a row.
struct Sequence {
  Stream stream;  // {"polling", "job_events"}; no other writer may append to it
  std::string table;
  std::string key;
};

// Gives positions to rows that have none, in a locked transaction of its own. Any number of
// processes may do so. Errors: as LogTransaction.
class Sequencer {
 public:
  // `pool`: that of LogTransactions. It outlives the sequencer.
  Sequencer(Pool& pool, Sequence sequence);
  ~Sequencer();  // stops and joins
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;

  // Numbers rows on a thread of its own: when woken, and every second besides for rows of processes
  // that died before they could.
  void Start();
  void Stop();
  // There are new rows: called after a commit. Wakes close together are one.
  void Wake();

  // Numbers up to 1,000 rows now; answers how many.
  StatusOr<int64_t> NumberSome(Deadline deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow::pg
