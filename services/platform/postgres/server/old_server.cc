#include "services/platform/postgres/server/old_server.h"

#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "services/platform/postgres/server/file_lock.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval(20);
constexpr std::chrono::seconds kZombieLimit(5);

// What /proc knows of a process.
struct ProcessInfo {
  std::string program;      // base name of its executable; empty when it may not be read
  std::string working_dir;  // same
  char state = '?';
  std::optional<uid_t> uid;
};

std::optional<pid_t> PidInFile(const std::string& path) {
  std::ifstream in(path);
  long pid = 0;
  if (!(in >> pid) || pid <= 0) return std::nullopt;
  return static_cast<pid_t>(pid);
}

std::optional<ProcessInfo> Inspect(pid_t pid) {
  const fs::path proc = "/proc/" + std::to_string(pid);
  std::ifstream status(proc / "status");
  if (!status) return std::nullopt;
  ProcessInfo info;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "State:") words >> info.state;
    uid_t uid = 0;
    if (key == "Uid:" && words >> uid) info.uid = uid;
  }
  std::error_code error;
  std::string program = fs::read_symlink(proc / "exe", error).filename().string();
  // The package was upgraded beneath the running program.
  if (program.ends_with(" (deleted)")) program.resize(program.size() - sizeof(" (deleted)") + 1);
  info.program = program;
  info.working_dir = fs::read_symlink(proc / "cwd", error).string();
  return info;
}

// A postmaster's working directory is its data directory.
bool IsPostmasterOf(const ProcessInfo& info, const std::string& cluster_dir) {
  return info.program == "postgres" && info.working_dir == cluster_dir;
}

void TellOldServerToEnd(const std::string& data_dir, int signal_number) {
  const std::string cluster_dir = data_dir + "/pg";
  const std::optional<pid_t> pid = PidInFile(cluster_dir + "/postmaster.pid");
  if (!pid) return;
  const std::optional<ProcessInfo> info = Inspect(*pid);
  if (!info || !IsPostmasterOf(*info, cluster_dir)) return;
  log::Info("an earlier Winnow left its PostgreSQL running: ending it", {{"pid", int64_t{*pid}}});
  kill(*pid, signal_number);
}

Status StillRunning(const std::string& data_dir) {
  const std::optional<pid_t> pid = PidInFile(data_dir + "/pg/postmaster.pid");
  return FailedPrecondition("the PostgreSQL of an earlier Winnow on " + data_dir + " does not end" +
                            (pid ? " (process " + std::to_string(*pid) + ")" : std::string()) +
                            ": end the processes that `fuser " + data_dir +
                            "/pg.lock` shows, then start again");
}

StatusOr<Fd> WaitForServerLock(const std::string& data_dir, std::chrono::milliseconds limit,
                               const std::stop_token& stop) {
  const auto start = steady_clock::now();
  bool asked = false;
  bool pressed = false;
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(std::optional<Fd> lock, TryLock(data_dir + "/pg.lock"));
    if (lock) return std::move(*lock);
    // INT ends it by a clean shutdown, QUIT by one that leaves recovery to the next start.
    if (!asked) TellOldServerToEnd(data_dir, SIGINT);
    asked = true;
    if (stop.stop_requested()) return Status(StatusCode::kCancelled, "stopped");
    const auto waited = steady_clock::now() - start;
    if (waited > limit) return StillRunning(data_dir);
    if (waited > limit / 2 && !pressed) {
      TellOldServerToEnd(data_dir, SIGQUIT);
      pressed = true;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Status Blocked(const std::string& cluster_dir, pid_t pid, const ProcessInfo& info) {
  const std::string process = "process " + std::to_string(pid);
  const std::string pid_file = cluster_dir + "/postmaster.pid";
  if (IsPostmasterOf(info, cluster_dir)) {
    return FailedPrecondition("a PostgreSQL that Winnow did not start (" + process + ") uses " +
                              cluster_dir + ": stop it (pg_ctl -D '" + cluster_dir +
                              "' stop), then start again");
  }
  const std::string what = info.state == 'Z'      ? "a zombie process"
                           : info.program.empty() ? "another program"
                                                  : "`" + info.program + "`";
  return FailedPrecondition(
      pid_file + " names " + process + ", which is now " + what +
      ": its number was used again after PostgreSQL was killed, and PostgreSQL does not start "
      "while it lives. End that process, or make sure that no PostgreSQL uses " +
      cluster_dir + " and remove " + pid_file + " by hand; then start again");
}

}  // namespace

StatusOr<DataDirLocks> LockDataDir(const std::string& data_dir, std::chrono::milliseconds limit,
                                   const std::stop_token& stop) {
  const std::string owner_path = data_dir + "/winnow.lock";
  WINNOW_ASSIGN_OR_RETURN(std::optional<Fd> owner, TryLock(owner_path));
  if (!owner) {
    const std::optional<pid_t> pid = PidInFile(owner_path);
    return FailedPrecondition("data directory " + data_dir + " is in use by another Winnow" +
                              (pid ? " (process " + std::to_string(*pid) + ")" : std::string()) +
                              ": stop it, or give this one a --data-dir of its own");
  }
  const std::string self = std::to_string(getpid()) + "\n";
  if (ftruncate(owner->get(), 0) != 0 ||
      pwrite(owner->get(), self.data(), self.size(), 0) != std::ssize(self)) {
    return FailedPrecondition("cannot write " + owner_path + ": is the disk full?");
  }
  WINNOW_ASSIGN_OR_RETURN(Fd server, WaitForServerLock(data_dir, limit, stop));
  return DataDirLocks{std::move(*owner), std::move(server)};
}

Status CheckNobodyBlocksTheStart(const std::string& cluster_dir, const Account& account) {
  const std::optional<pid_t> pid = PidInFile(cluster_dir + "/postmaster.pid");
  if (!pid || *pid == getpid()) return OkStatus();  // PostgreSQL overlooks its parent, too
  const auto zombie_deadline = steady_clock::now() + kZombieLimit;
  while (true) {
    waitpid(*pid, nullptr, WNOHANG);  // an orphan handed to us, when we are the first process
    const std::optional<ProcessInfo> info = Inspect(*pid);
    if (!info) return OkStatus();
    // PostgreSQL, too, takes a process it may not signal for a stranger.
    if (info->uid != account.uid && !IsPostmasterOf(*info, cluster_dir)) return OkStatus();
    if (info->state != 'Z' || steady_clock::now() > zombie_deadline) {
      return Blocked(cluster_dir, *pid, *info);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace winnow::pg
