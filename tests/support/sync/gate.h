#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace winnow::test {

// Holds threads up until a test opens it. A wait ends after a minute, so that a broken test fails
// and does not hang.
class Gate {
 public:
  // Whether it was opened.
  bool Wait();
  void Open();
  // Threads that wait now.
  int Waiting() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace winnow::test
