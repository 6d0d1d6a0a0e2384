#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/server/process.h"

namespace winnow::pg {

// Keeps one postmaster running: starts it, starts it again with backoff when it dies, and ends it.
// All forks are made by one thread that lives as long as the supervisor, since the parent-death
// signal of a child fires when the thread that forked it ends.
class Supervisor {
 public:
  struct Plan {
    Command command;
    std::string ping_url;  // answers once the server accepts connections
    std::string log_path;  // where its output goes; its end explains a failed start
    std::chrono::milliseconds answer_limit{std::chrono::minutes(1)};  // until it answers at all
    std::chrono::milliseconds start_limit{std::chrono::minutes(10)};  // crash recovery takes long
    std::chrono::milliseconds first_backoff{100};
    std::chrono::milliseconds longest_backoff{10'000};
  };

  explicit Supervisor(Plan plan);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Returns once connections are accepted, or why that did not happen: then nothing runs.
  Status Start();
  // Ends a running Start(): what recovers goes on with it at the next one. Any thread.
  void CancelStart();

  // kFast rolls back what runs and shuts down cleanly; kImmediate leaves recovery to the next
  // start. Returns when the postmaster is gone; an error when it had to be killed. At `deadline`
  // what is left of the patience with a server that does not end is under a second.
  enum class StopMode { kFast, kImmediate };
  Status Stop(StopMode mode, Deadline deadline = Deadline::max());

  // OK while the server runs; else UNAVAILABLE with what happened.
  Status health() const;
  pid_t pid() const;     // 0: not running
  int restarts() const;  // successful ones

 private:
  void Loop();
  Status StartOnce();
  Status AwaitReady(pid_t pid);
  int WaitForEnd(pid_t pid);
  void SetPid(pid_t pid);
  bool WaitForLoopEnd(Deadline deadline);
  void Signal(int signal_number);
  std::string LogSince(long long offset) const;

  const Plan plan_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  pid_t pid_ = 0;  // not yet reaped: may be signalled
  bool first_start_done_ = false;
  std::stop_source stop_;
  bool loop_ended_ = false;
  int restarts_ = 0;
  Status health_;
  std::thread thread_;
};

}  // namespace winnow::pg
