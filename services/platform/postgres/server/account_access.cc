#include "services/platform/postgres/server/account_access.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

namespace winnow::pg {
namespace {

constexpr int kPassed = 0;
constexpr int kNotTheAccount = 255;
constexpr size_t kMaxSteps = 250;  // the child answers by its exit code

// The child: the number, counted from 1, of the first directory it cannot enter.
[[noreturn]] void TryToEnter(const std::vector<std::string>& steps, const Account& account) {
  if (syscall(SYS_setgroups, 0, nullptr) != 0 ||
      syscall(SYS_setresgid, account.gid, account.gid, account.gid) != 0 ||
      syscall(SYS_setresuid, account.uid, account.uid, account.uid) != 0) {
    _exit(kNotTheAccount);
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    if (chdir(steps[i].c_str()) != 0) _exit(static_cast<int>(i + 1));
  }
  _exit(kPassed);
}

}  // namespace

Status CheckAccountCanEnter(const std::string& path, const Account& account) {
  if (!account.drop) return OkStatus();  // this process writes there itself
  std::vector<std::string> steps;
  std::filesystem::path reached;
  for (const auto& part : std::filesystem::path(path)) {
    reached /= part;
    steps.push_back(reached.string());
  }
  if (steps.size() > kMaxSteps) return FailedPrecondition(path + " is nested too deeply");
  const pid_t pid = _Fork();
  if (pid == 0) TryToEnter(steps, account);
  int wait_status = 0;
  while (pid > 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (pid < 0 || !WIFEXITED(wait_status)) return Internal("cannot look at " + path + " by a fork");
  const int code = WEXITSTATUS(wait_status);
  if (code == kPassed) return OkStatus();
  if (code == kNotTheAccount)
    return FailedPrecondition("root without the right to become user " + account.name +
                              ", as which PostgreSQL runs: start Winnow as a normal user");
  return FailedPrecondition("PostgreSQL runs as user " + account.name + ", which cannot enter " +
                            steps[static_cast<size_t>(code) - 1] +
                            ": choose a data directory such as /var/lib/winnow (--data-dir)");
}

}  // namespace winnow::pg
