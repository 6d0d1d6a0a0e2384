#include "services/platform/postgres/server/supervisor.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "services/platform/postgres/server/admin.h"
#include "services/platform/process/fd.h"
#include "services/platform/process/log.h"
#include "services/platform/process/pause.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kPollInterval(10);
constexpr seconds kFastStopLimit(60);
constexpr seconds kImmediateStopLimit(20);
// Of either kind when the deadline has passed.
constexpr milliseconds kMinStopLimit(300);
constexpr milliseconds kRetryAfter(1000);

Status Down(const std::string& why) {
  return Unavailable(Reason::kStoreUnavailable, "the private PostgreSQL " + why, kRetryAfter);
}

}  // namespace

Supervisor::Supervisor(Plan plan) : plan_(std::move(plan)), health_(Down("was not started")) {}

Supervisor::~Supervisor() {
  if (Status status = Stop(StopMode::kFast); !status.ok()) log::Error(Message(status));
}

Status Supervisor::Start() {
  thread_ = std::thread([this] { Loop(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return first_start_done_; });
  return health_;
}

void Supervisor::Loop() {
  milliseconds backoff = plan_.first_backoff;
  for (bool first = true;; first = false) {
    const Status started = StartOnce();
    {
      std::lock_guard lock(mutex_);
      health_ = started;
      first_start_done_ = true;
      if (started.ok() && !first) ++restarts_;
    }
    changed_.notify_all();
    if (first && !started.ok()) break;
    if (started.ok()) {
      backoff = plan_.first_backoff;
      const std::string end = DescribeEnd(WaitForEnd(pid()));
      std::lock_guard lock(mutex_);
      health_ = Down("ended: " + end);
    }
    if (!Pause(stop_.get_token(), backoff)) break;
    log::Error("the private PostgreSQL is down: starting it again",
               {{"why", Message(health())}, {"after_ms", int64_t{backoff.count()}}});
    backoff = std::min(backoff * 2, plan_.longest_backoff);
  }
  std::lock_guard lock(mutex_);
  loop_ended_ = true;
  changed_.notify_all();
}

Status Supervisor::StartOnce() {
  std::error_code error;
  const auto size = std::filesystem::file_size(plan_.log_path, error);
  const auto offset = error ? 0LL : static_cast<long long>(size);
  Fd log_fd = Fd::AboveStandardStreams(
      open(plan_.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log_fd.valid()) return FailedPrecondition("cannot write " + plan_.log_path);
  Command command = plan_.command;
  command.output_fd = log_fd.get();
  WINNOW_ASSIGN_OR_RETURN(const pid_t child, Spawn(command));
  SetPid(child);
  Status ready = AwaitReady(child);
  if (ready.ok()) return ready;
  Signal(SIGQUIT);
  WaitForEnd(child);
  return Unavailable(Reason::kStoreUnavailable, Message(ready) + LogSince(offset), kRetryAfter);
}

Status Supervisor::AwaitReady(pid_t child) {
  const auto start = steady_clock::now();
  bool answered = false;
  while (true) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child) {
      return Down("ended while starting");
    }
    const Ping ping = PingServer(plan_.ping_url);
    if (ping == Ping::kAccepts) return OkStatus();
    answered = answered || ping == Ping::kStarting;
    const milliseconds limit = answered ? plan_.start_limit : plan_.answer_limit;
    if (steady_clock::now() - start > limit) return Down("did not accept connections in time");
    if (!Pause(stop_.get_token(), kPollInterval)) return Down("was stopped while starting");
  }
}

// First without reaping: until the pid is forgotten it must not go to another process.
int Supervisor::WaitForEnd(pid_t child) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  std::lock_guard lock(mutex_);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return wait_status;
}

void Supervisor::SetPid(pid_t child) {
  std::lock_guard lock(mutex_);
  pid_ = child;
  if (stop_.stop_requested()) kill(pid_, SIGQUIT);  // Stop() came before the server was started
}

void Supervisor::Signal(int signal_number) {
  std::lock_guard lock(mutex_);
  if (pid_ > 0) kill(pid_, signal_number);
}

bool Supervisor::WaitForLoopEnd(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return loop_ended_; });
}

void Supervisor::CancelStart() { stop_.request_stop(); }

Status Supervisor::Stop(StopMode mode, Deadline deadline) {
  if (!thread_.joinable()) return OkStatus();
  CancelStart();
  const auto until = [deadline](seconds limit) {
    const auto now = steady_clock::now();
    return std::max(now + kMinStopLimit, std::min(now + limit, deadline));
  };
  bool ended = false;
  if (mode == StopMode::kFast) {
    Signal(SIGINT);
    ended = WaitForLoopEnd(until(kFastStopLimit));
  }
  if (!ended) {
    Signal(SIGQUIT);
    ended = WaitForLoopEnd(until(kImmediateStopLimit));
  }
  if (!ended) Signal(SIGKILL);
  thread_.join();
  std::lock_guard lock(mutex_);
  health_ = Down("was stopped");
  if (ended) return OkStatus();
  return DeadlineExceeded("the private PostgreSQL did not stop when asked to and was killed");
}

Status Supervisor::health() const {
  std::lock_guard lock(mutex_);
  return health_;
}

pid_t Supervisor::pid() const {
  std::lock_guard lock(mutex_);
  return pid_;
}

int Supervisor::restarts() const {
  std::lock_guard lock(mutex_);
  return restarts_;
}

std::string Supervisor::LogSince(long long offset) const {
  constexpr size_t kMostBytes = 2048;
  std::ifstream in(plan_.log_path);
  in.seekg(offset);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (text.size() > kMostBytes) text.erase(0, text.size() - kMostBytes);
  return "; it said (" + plan_.log_path + "): " + (text.empty() ? "nothing" : text);
}

}  // namespace winnow::pg
