#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace winnow {

// A thread that does one step after the other, each after the pause that the one before asked for.
class PeriodicThread {
 public:
  using Step = std::function<std::chrono::milliseconds()>;

  ~PeriodicThread() { Stop(); }

  // The first step comes at once.
  void Start(Step step) {
    thread_ = std::jthread([this, step = std::move(step)](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        const auto pause = step();
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, stop, pause, [this] { return woken_; });
        woken_ = false;
      }
    });
  }
  // Ends the pause, or the next one if a step runs. Any thread.
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    wake_.notify_all();
  }
  // Ends a pause, and waits for the step that runs. Returns whether the thread had been started.
  bool Stop() {
    thread_.request_stop();
    const bool started = thread_.joinable();
    if (started) thread_.join();
    return started;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool woken_ = false;
  std::jthread thread_;
};

}  // namespace winnow
