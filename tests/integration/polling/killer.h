#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/postgres/postgres.h"

namespace winnow::polling {

// Kills PostgreSQL, once for each time that was wanted, beside what goes on.
class Killer {
 public:
  ~Killer() { Stop(); }
  // At most `most` in all.
  void Want(int most) {
    const std::lock_guard lock(mutex_);
    wanted_ = std::min(wanted_ + 1, most);
    changed_.notify_all();
  }
  int done() const { return done_; }
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || wanted_ > done_; });
        if (stopping_) return;
      }
      test::Postgres::Instance().KillAndAwaitRestart();
      ++done_;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int wanted_ = 0;
  bool stopping_ = false;
  std::atomic<int> done_ = 0;
  std::thread thread_{[this] { Run(); }};
};

}  // namespace winnow::polling
