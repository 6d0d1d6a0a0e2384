#include "services/platform/postgres/connecting.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace winnow::pg {
namespace {

// Shared by the one who waits and the thread, whichever lasts longer.
struct Attempt {
  std::mutex mutex;
  std::condition_variable_any ended;
  bool done = false;
  std::unique_ptr<Connection> made;
  std::exception_ptr failure;
};

void Connect(const ConnectionSettings& settings, Attempt& attempt) {
  std::unique_ptr<Connection> made;
  std::exception_ptr failure;
  try {
    made = std::make_unique<Connection>(settings);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(attempt.mutex);
  attempt.made = std::move(made);
  attempt.failure = std::move(failure);
  attempt.done = true;
  attempt.ended.notify_all();
}

}  // namespace

std::unique_ptr<Connection> ConnectUnlessStopped(const ConnectionSettings& settings,
                                                 const std::stop_token& stop) {
  const auto attempt = std::make_shared<Attempt>();
  std::thread([attempt, settings] { Connect(settings, *attempt); }).detach();
  std::unique_lock lock(attempt->mutex);
  if (!attempt->ended.wait(lock, stop, [&] { return attempt->done; })) return nullptr;
  if (attempt->failure) std::rethrow_exception(attempt->failure);
  return std::move(attempt->made);
}

}  // namespace winnow::pg
