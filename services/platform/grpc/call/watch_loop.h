#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "services/platform/base/status.h"
#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::rpc {

// Serves all watches of one method on one thread, which polls the store: changes that other
// processes commit are seen too. `Watch` may have a `subscriber` (subscriber.h),
// which Stop ends; without one the watch is dropped, and the binder ends its stream.
template <class Watch>
class WatchLoop {
 public:
  using Watches = std::list<Watch>;
  // Sends each watch what is new, and removes those that have ended. Returns whether there is more
  // to send, which is asked for again after 2 ms rather than the polling interval.
  using Serve = std::function<bool(Watches&)>;

  struct Options {
    const char* method;  // "WatchJobs": errors name it
    size_t limit;        // watches at a time
    std::chrono::milliseconds poll;
  };
  explicit WatchLoop(Options options) : options_(options) {}
  ~WatchLoop() { Stop(); }

  void Start(Serve serve) {
    thread_ = std::thread([this, serve = std::move(serve)] {
      while (Await(stop_.get_token())) {
        const size_t before = watches_.size();
        has_more_ = serve(watches_);
        const std::lock_guard lock(mutex_);
        count_ -= before - watches_.size();
      }
    });
  }

  // Ends all watches with SHUTTING_DOWN.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);  // after this Add() adds nothing
      stop_.request_stop();
    }
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(mutex_);
    watches_.splice(watches_.end(), added_);
    if constexpr (requires(const Watch& watch) { watch.subscriber.Ended(); }) {
      for (const Watch& watch : watches_) watch.subscriber.End(ShuttingDown());
    }
    watches_.clear();
  }

  // There may be something new. Any thread.
  void Wake() {
    {
      const std::lock_guard lock(mutex_);
      if (count_ == 0) return;
      woken_ = true;
    }
    changed_.notify_all();
  }

  // RESOURCE_EXHAUSTED if there are `limit` watches; UNAVAILABLE after Stop.
  Status Add(Watch watch) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_.stop_requested()) return ShuttingDown();
      if (count_ >= options_.limit) {
        return Overloaded("this server has " + std::to_string(options_.limit) + " " +
                              options_.method +
                              " calls, its limit: retry after the delay in RetryInfo",
                          std::chrono::seconds(1));
      }
      ++count_;
      woken_ = true;
      added_.push_back(std::move(watch));
    }
    changed_.notify_all();
    return OkStatus();
  }

 private:
  static constexpr std::chrono::milliseconds kNextPage{2};  // a reader takes a page in less

  // Waits until the watches are to be served. False: the loop was stopped.
  bool Await(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto is_woken = [this] { return woken_; };
    if (has_more_) {
      changed_.wait_for(lock, stop, kNextPage, [] { return false; });
    } else if (count_ == 0) {
      changed_.wait(lock, stop, is_woken);
    } else {
      changed_.wait_for(lock, stop, options_.poll, is_woken);
    }
    woken_ = false;
    watches_.splice(watches_.end(), added_);
    return !stop.stop_requested();
  }

  const Options options_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  size_t count_ = 0;  // watches, those that were just added included
  bool woken_ = false;
  Watches added_;  // not yet seen by the thread
  // Of the thread alone:
  Watches watches_;
  bool has_more_ = false;
  std::thread thread_;
};

}  // namespace winnow::rpc
