#include "services/app/client/signal_watch.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace winnow::app {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};

}  // namespace

SignalWatch::SignalWatch(const Interrupt& interrupt, std::function<void(int count)> on_signal)
    : thread_([&interrupt, on_signal = std::move(on_signal)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any ended;
        std::unique_lock lock(mutex);
        int reported = 0;
        do {
          const int count = interrupt.count();
          if (count > reported) on_signal(reported = count);
        } while (!ended.wait_for(lock, stop, kLookEvery, [&] { return stop.stop_requested(); }));
      }) {}

}  // namespace winnow::app
