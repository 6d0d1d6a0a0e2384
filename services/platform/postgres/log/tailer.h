#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::pg {

// Follows one stream and hands over each row once, in order, only up to transaction ends. One per
// stream and process, on a thread of its own. It reads the primary.
struct TailerOptions {
  Stream stream;
  int64_t from = 0;     // deliver rows with seq > from
  std::string epoch{};  // the epoch `from` belongs to; empty: whichever is there
  int batch = 1000;     // rows a read, at most
};

class Tailer {
 public:
  // Reads rows with after < seq <= until, at most `limit`, applies them and answers the last seq
  // applied (or `until` when there are none left). `until` is a transaction's end; only a backlog
  // of more than `limit` rows comes in several calls. Called on the tailer's thread.
  using Apply = std::function<StatusOr<int64_t>(Session&, int64_t after, int64_t until, int limit)>;
  // Another epoch, or P > head: what was read is of another history. Reload from the store and
  // answer the position reached, in its epoch (ReadHead, in the same snapshot).
  using Reload = std::function<StatusOr<Head>(Session&)>;

  Tailer(Pool& pool, TailerOptions options, Apply apply, Reload reload);
  ~Tailer();  // stops and joins
  Tailer(const Tailer&) = delete;
  Tailer& operator=(const Tailer&) = delete;
  void Start();
  void Stop();
  // Looks for rows now, instead of at the next poll or NOTIFY: called after a local commit.
  void Wake();
  // The last transaction's end that everything is applied to.
  int64_t position() const;
  // True while the last look worked and all that it found is applied.
  bool healthy() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace winnow::pg
