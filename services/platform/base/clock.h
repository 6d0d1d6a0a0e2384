#pragma once

#include <chrono>

namespace winnow {

// Points in time are microseconds: what PostgreSQL keeps, and wide enough for years 1 to 9999.
using Micros = std::chrono::microseconds;
using Time = std::chrono::sys_time<Micros>;

// Deadlines use the monotonic clock.
using Deadline = std::chrono::steady_clock::time_point;

// What time it is. Two implementations: the system's, and one that tests set.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time Now() const override {
    return std::chrono::time_point_cast<Micros>(std::chrono::system_clock::now());
  }
};

}  // namespace winnow
