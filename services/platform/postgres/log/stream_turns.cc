#include "services/platform/postgres/log/stream_turns.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "services/platform/postgres/session/errors.h"

namespace winnow::pg {
namespace {

using Key = std::pair<const void*, std::string>;

struct Turns {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Key> taken;
};

Turns& AllTurns() {
  static Turns turns;
  return turns;
}

}  // namespace

StatusOr<std::shared_ptr<void>> TakeTurn(const void* pool, const std::string& stream,
                                         Deadline deadline) {
  Turns& turns = AllTurns();
  Key key(pool, stream);
  std::unique_lock lock(turns.mutex);
  if (!turns.changed.wait_until(lock, deadline, [&] { return !turns.taken.contains(key); })) {
    return Overloaded("log transactions of stream " + stream + " are waiting for each other",
                      kRetryAfter);
  }
  turns.taken.insert(key);
  return std::shared_ptr<void>(nullptr, [&turns, key = std::move(key)](void*) {
    {
      std::lock_guard give_back(turns.mutex);
      turns.taken.erase(key);
    }
    turns.changed.notify_all();
  });
}

}  // namespace winnow::pg
