#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "services/platform/clock.h"
#include "services/platform/postgres/pool.h"

// The commit-ordered log: the one way to append to a stream (ARCHITECTURE.md, "The commit-ordered
// log"). Commit order equals seq order, so a reader that has read to P has exactly the world at P.
namespace winnow::pg {

// A stream of one schema. Its row lives in <schema>.log_streams(stream text, head bigint, epoch
// text, last_arrival timestamptz); kLogStreamsSql below makes the table.
struct Stream {
  std::string schema;  // "dedup"
  std::string name;    // "default": the namespace; "feeds" for the one of newsfeed
};

// DDL of the table for a schema's migration: CREATE TABLE <schema>.log_streams (...).
std::string LogStreamsDdl(const std::string& schema);

// What a transaction's body sees, under the stream's lock.
class LogSession {
 public:
  Session& session() { return session_; }
  int64_t head() const { return head_; }  // last seq before this transaction
  const std::string& epoch() const { return epoch_; }
  // Reserves the next `count` numbers and gives the first. The rows must be inserted by this body.
  int64_t Append(int64_t count) {
    const int64_t first = head_ + appended_ + 1;
    appended_ += count;
    return first;
  }
  // Database time under the lock, never before an earlier arrival of the stream.
  Time arrival_time() const { return arrival_time_; }
  // Tells the stream of a later arrival than arrival_time() (an import that replays times).
  void RaiseArrival(Time time) { arrival_time_ = std::max(arrival_time_, time); }

 private:
  friend class LogTransaction;
  LogSession(Session& session, int64_t head, std::string epoch, Time arrival)
      : session_(session), head_(head), epoch_(std::move(epoch)), arrival_time_(arrival) {}
  Session& session_;
  int64_t head_;
  int64_t appended_ = 0;
  std::string epoch_;
  Time arrival_time_;
};

class LogTransaction {
 public:
  struct Committed {
    int64_t head = 0;  // the stream's head after the commit
    std::string epoch;
  };
  // Runs `body` under the stream's lock and commits what it appended. Rolls back when it returns an
  // error. When the outcome of the commit is unknown, takes the lock again and asks `settled`
  // whether the rows are there (by their ids): true means it was committed. Errors: as Pool::Write;
  // a lock not got in time is UNAVAILABLE with RetryInfo. `body` may run more than once and must
  // start afresh each time.
  static StatusOr<Committed> Run(Pool& pool, const Stream& stream, Deadline deadline,
                                 const std::function<Status(LogSession&)>& body,
                                 const std::function<StatusOr<bool>(Session&)>& settled);
};

// Head and epoch of a stream, as of one snapshot; head 0 for a stream nobody has written.
struct Head {
  int64_t head = 0;
  std::string epoch;
};
StatusOr<Head> ReadHead(Session& session, const Stream& stream);

}  // namespace winnow::pg
