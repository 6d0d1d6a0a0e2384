#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "services/platform/base/clock.h"

namespace winnow {

// What `work` returns, or throws, run on a thread of its own: for what cannot be cancelled, such
// as asking the resolver. Nothing once `stop` is requested or `deadline` is there, also while it
// runs: its thread is then left to end by itself, so that `work` is to own all that it uses and to
// end some time.
template <class Work>
auto UnlessStopped(const std::stop_token& stop, Deadline deadline, Work work)
    -> std::optional<std::invoke_result_t<Work>> {
  struct Attempt {  // of both threads, whichever lasts longer
    explicit Attempt(Work w) : task(std::move(w)) {}
    std::packaged_task<std::invoke_result_t<Work>()> task;
    std::mutex mutex;
    std::condition_variable_any changed;
    bool ended = false;
  };
  if (stop.stop_requested()) return std::nullopt;
  const auto attempt = std::make_shared<Attempt>(std::move(work));
  auto result = attempt->task.get_future();
  std::thread([attempt] {
    attempt->task();
    const std::lock_guard lock(attempt->mutex);
    attempt->ended = true;
    attempt->changed.notify_all();
  }).detach();
  std::unique_lock lock(attempt->mutex);
  if (!attempt->changed.wait_until(lock, stop, deadline, [&] { return attempt->ended; })) {
    return std::nullopt;
  }
  return result.get();
}

}  // namespace winnow
