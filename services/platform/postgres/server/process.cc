#include "services/platform/postgres/server/process.h"

#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "services/platform/process/descriptor_limit.h"
#include "services/platform/process/fd.h"

namespace winnow::pg {
namespace {

constexpr int kKeptFd = 3;
constexpr std::chrono::milliseconds kPollInterval(5);

// Everything the child needs, made before the fork: after it only async-signal-safe calls are
// allowed, since other threads may hold any lock.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> env;
  const Command* command;
  int null_fd;
  int error_fd;
  pid_t parent;
};

struct ChildError {
  char step[16];
  int error;
};

[[noreturn]] void Fail(const ChildPlan& plan, const char* step) {
  ChildError failure{};
  failure.error = errno;
  strncpy(failure.step, step, sizeof(failure.step) - 1);
  const ssize_t written = write(plan.error_fd, &failure, sizeof(failure));
  _exit(written == sizeof(failure) ? 127 : 126);
}

void ResetSignals() {
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) {
    signal(signal_number, SIG_DFL);  // refused for KILL, STOP and libc's own: as it should be
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Raw system calls: the libc wrappers synchronise with threads that a fork does not copy.
bool BecomeAccount(const Account& account) {
  return syscall(SYS_setgroups, 0, nullptr) == 0 &&
         syscall(SYS_setresgid, account.gid, account.gid, account.gid) == 0 &&
         syscall(SYS_setresuid, account.uid, account.uid, account.uid) == 0;
}

void ArrangeDescriptors(const ChildPlan& plan) {
  const int output = plan.command->output_fd < 0 ? plan.null_fd : plan.command->output_fd;
  if (dup2(plan.null_fd, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) Fail(plan, "dup2");
  int first_unwanted = kKeptFd;
  if (plan.command->keep_fd >= 0) {
    if (dup2(plan.command->keep_fd, kKeptFd) < 0) Fail(plan, "dup2");
    ++first_unwanted;
  }
  // Without close_range (an old kernel) the close-on-exec flags do.
  syscall(SYS_close_range, first_unwanted, plan.error_fd - 1, 0);
  syscall(SYS_close_range, plan.error_fd + 1, ~0U, 0);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  if (plan.command->own_session && setsid() < 0) Fail(plan, "setsid");
  ResetSignals();
  umask(077);
  RestoreDescriptorLimit();
  if (plan.command->account.drop && !BecomeAccount(plan.command->account)) Fail(plan, "setuid");
  // After the change of user, which clears it. The parent may have died before: then no signal
  // will ever come.
  if (prctl(PR_SET_PDEATHSIG, SIGINT) != 0) Fail(plan, "prctl");
  if (getppid() != plan.parent) _exit(126);
  ArrangeDescriptors(plan);
  if (chdir("/") != 0) Fail(plan, "chdir");
  execve(plan.argv[0], plan.argv.data(), plan.env.data());
  Fail(plan, "execute");
}

// PGDATA, PGOPTIONS and the like of the parent's environment must not reach the server.
std::vector<std::string> CleanEnvironment() {
  std::vector<std::string> env = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = getenv(name)) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void MakeChildrenWaitable() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
    signal(SIGCHLD, SIG_DFL);
  }
}

// The child's report: nothing if it got as far as execve.
Status ReadChildError(int fd, const std::string& program) {
  ChildError failure{};
  ssize_t count;
  do {
    count = read(fd, &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count != sizeof(failure)) return OkStatus();
  return FailedPrecondition("cannot run " + program + ": " + failure.step + ": " +
                            strerror(failure.error));
}

StatusOr<int> WaitUntil(pid_t pid, std::chrono::steady_clock::time_point deadline,
                        const std::stop_token& stop) {
  int wait_status = 0;
  while (true) {
    const pid_t reaped = waitpid(pid, &wait_status, WNOHANG);
    if (reaped == pid) return wait_status;
    if (reaped < 0 && errno != EINTR) return Internal(std::string("waitpid: ") + strerror(errno));
    if (stop.stop_requested()) return Status(StatusCode::kCancelled, "stopped");
    if (std::chrono::steady_clock::now() >= deadline) return DeadlineExceeded("still running");
    std::this_thread::sleep_for(kPollInterval);
  }
}

std::string Tail(int fd) {
  constexpr off_t kTailBytes = 4096;
  struct stat file {};
  if (fstat(fd, &file) != 0) return "";
  std::string text(static_cast<size_t>(std::min(file.st_size, kTailBytes)), '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), file.st_size - std::ssize(text));
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

}  // namespace

StatusOr<pid_t> Spawn(const Command& command) {
  MakeChildrenWaitable();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Internal(std::string("pipe: ") + strerror(errno));
  Fd error_in = Fd::AboveStandardStreams(ends[0]);
  Fd error_out = Fd::AboveStandardStreams(ends[1]);
  Fd null_fd = Fd::AboveStandardStreams(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!error_in.valid() || !error_out.valid() || !null_fd.valid()) {
    return Internal(std::string("cannot prepare a child process: ") + strerror(errno));
  }
  const std::vector<std::string> env = CleanEnvironment();
  const ChildPlan plan = {Pointers(command.argv), Pointers(env),   &command,
                          null_fd.get(),          error_out.get(), getpid()};
  // Not fork(): its handlers (gRPC registers some) have no business in a child that only execs.
  const pid_t pid = _Fork();
  if (pid == 0) RunChild(plan);
  if (pid < 0) return Internal(std::string("fork: ") + strerror(errno));
  error_out.Close();
  if (Status status = ReadChildError(error_in.get(), command.argv[0]); !status.ok()) {
    Reap(pid);
    return status;
  }
  return pid;
}

StatusOr<Finished> Run(Command command, std::chrono::seconds limit, const std::stop_token& stop) {
  Fd output = Fd::AboveStandardStreams(memfd_create("winnow-output", MFD_CLOEXEC));
  if (!output.valid()) return Internal(std::string("memfd_create: ") + strerror(errno));
  command.output_fd = output.get();
  StatusOr<pid_t> pid = Spawn(command);
  if (!pid.ok()) return pid.status();
  StatusOr<int> wait_status = WaitUntil(*pid, std::chrono::steady_clock::now() + limit, stop);
  if (!wait_status.ok()) {
    kill(command.own_session ? -*pid : *pid, SIGKILL);
    Reap(*pid);
    if (wait_status.status().code() == StatusCode::kCancelled) return wait_status.status();
    return DeadlineExceeded(command.argv[0] + " did not end within " +
                            std::to_string(limit.count()) + " s");
  }
  const int code =
      WIFEXITED(*wait_status) ? WEXITSTATUS(*wait_status) : 128 + WTERMSIG(*wait_status);
  return Finished{code, Tail(output.get())};
}

void Reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string DescribeEnd(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
  const int signal_number = WTERMSIG(wait_status);
  return "signal " + std::to_string(signal_number) + " (" + strsignal(signal_number) + ")";
}

}  // namespace winnow::pg
