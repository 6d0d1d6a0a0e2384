#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/postgres/pool/pool.h"

// The commit-ordered log: the one way to append to a stream (ARCHITECTURE.md, "The commit-ordered
// log"). Commit order equals seq order, so a reader that has read to P has exactly the world at P.
namespace winnow::pg {

// A stream of one schema. Its row lives in <schema>.log_streams(stream text, head bigint, epoch
// text, last_arrival timestamptz); LogStreamsDdl below makes the table.
struct Stream {
  std::string schema;  // "dedup"
  std::string name;    // "default": the namespace; "feeds" for the one of newsfeed
};

// DDL of the table for a schema's migration: CREATE TABLE <schema>.log_streams (...).
std::string LogStreamsDdl(const std::string& schema);

// Rows that one transaction may append: it holds the stream's lock meanwhile.
inline constexpr int64_t kMaxRowsAppended = 1000;

// What a transaction's body sees, under the stream's lock.
class LogSession {
 public:
  Session& session() { return session_; }
  int64_t head() const { return head_; }  // last seq before this transaction
  // System identifier and timeline of the server: of another epoch, nothing that was read before
  // holds.
  const std::string& epoch() const { return epoch_; }
  // Reserves the next `count` numbers and gives the first. The rows must be inserted by this body.
  int64_t Append(int64_t count) {
    const int64_t first = head_ + appended_ + 1;
    appended_ += count;
    return first;
  }
  // Database time under the lock, never before an earlier arrival of the stream.
  Time arrival_time() const { return std::max(now_, last_arrival()); }
  // The latest arrival recorded in the stream; the beginning of time for a new stream.
  Time last_arrival() const { return last_arrival_; }
  // Says that the rows arrive at `time` (an import that replays times), not at arrival_time(). An
  // earlier time than last_arrival() leaves that as it is.
  void RaiseArrival(Time time) {
    told_arrival_ = true;
    last_arrival_ = std::max(last_arrival_, time);
  }

 private:
  friend class LogTransaction;
  explicit LogSession(Session& session) : session_(session) {}
  Session& session_;
  int64_t head_ = 0;
  int64_t appended_ = 0;
  std::string epoch_;
  Time now_;
  Time last_arrival_ = Time::min();
  bool told_arrival_ = false;
};

class LogTransaction {
 public:
  struct Committed {
    int64_t head = 0;  // the stream's head after the commit
    std::string epoch;
    // The outcome of the commit was unknown at first and settled afterwards: others may have
    // appended meanwhile, so that `head` covers rows the body never saw.
    bool settled_later = false;
  };
  // Runs `body` under the stream's lock and commits what it appended. Rolls back when it returns an
  // error. When the outcome of the commit is unknown, takes the lock again and asks `settled`
  // whether the rows are there (by their ids): true means it was committed. Errors: as
  // Pool::Transaction; a lock not got in time is UNAVAILABLE with RetryInfo, and so is an outcome
  // that stays unknown. `body` may run more than once and must start afresh each time. Those of one
  // pool and stream wait for each other here, without a connection.
  static StatusOr<Committed> Run(Pool& pool, const Stream& stream, Deadline deadline,
                                 const std::function<Status(LogSession&)>& body,
                                 const std::function<StatusOr<bool>(Session&)>& settled);

 private:
  struct Work;
  struct Attempt;
  static Attempt RunOnce(const Work& work, Deadline deadline, bool settle_first);
  static Status RunLocked(const Work& work, Session& session, bool settle_first, Committed& result);
  static Status EnterStream(const Work& work, LogSession& log);
  static Status Advance(const Work& work, const LogSession& log, Committed& result);
};

// Head and epoch of a stream, as of one snapshot; head 0 for a stream without entries.
struct Head {
  int64_t head = 0;
  std::string epoch;
};
StatusOr<Head> ReadHead(Session& session, const Stream& stream);

// The payload of the NOTIFY that announces a commit on the stream.
inline std::string WakePayload(const Stream& stream) { return stream.schema + "." + stream.name; }

}  // namespace winnow::pg
