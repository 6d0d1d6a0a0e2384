#include "services/platform/postgres/server/data_dir.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "services/platform/postgres/server/account_access.h"

namespace winnow::pg {
namespace {

namespace fs = std::filesystem;

constexpr char kSocketFile[] = "/.s.PGSQL.5432";

std::string Errno() { return strerror(errno); }

Status CannotUse(const std::string& path, const std::string& why) {
  return FailedPrecondition("cannot use data directory " + path + ": " + why +
                            "; give --data-dir a directory that Winnow may write");
}

// mkdir -p that does not leave the modes to the umask: the account must be able to pass.
Status MakeWithParents(const std::string& path, const Account& account) {
  std::string made;
  for (const fs::path& part : fs::path(path)) {
    made = made.empty() ? part.string() : (fs::path(made) / part).string();
    if (mkdir(made.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;  // settled below
      return CannotUse(path, "cannot make " + made + ": " + Errno());
    }
    if (account.drop && chmod(made.c_str(), 0755) != 0) {
      return CannotUse(path, "cannot set the mode of " + made + ": " + Errno());
    }
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return CannotUse(path, Errno());
  if (!S_ISDIR(info.st_mode)) return CannotUse(path, "it is not a directory");
  return OkStatus();
}

// access() would not do: root passes it everywhere, also on a read-only file system's directories.
Status CheckWritable(const std::string& path) {
  const std::string probe = path + "/.winnow-write-test";
  Fd fd(open(probe.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return CannotUse(path, "cannot write in it: " + Errno());
  unlink(probe.c_str());
  return OkStatus();
}

// A directory of root's own, made under umask 077 by hand: opened to the account's group only.
Status LetAccountIn(const std::string& path, const Account& account) {
  struct stat info {};
  if (!account.drop || stat(path.c_str(), &info) != 0 || info.st_uid != 0) return OkStatus();
  if ((info.st_mode & S_IXOTH) != 0) return OkStatus();
  if (info.st_gid == account.gid && (info.st_mode & S_IXGRP) != 0) return OkStatus();
  if (chown(path.c_str(), static_cast<uid_t>(-1), account.gid) != 0 ||
      chmod(path.c_str(), (info.st_mode & 07700) | S_IXGRP) != 0) {
    return CannotUse(path, "cannot let user " + account.name + " in: " + Errno());
  }
  return OkStatus();
}

}  // namespace

std::string DefaultDataDir(const Account& account, const char* xdg_data_home, const char* home) {
  const auto absolute = [](const char* dir) { return dir != nullptr && dir[0] == '/'; };
  if (account.drop) return "/var/lib/winnow";
  if (absolute(xdg_data_home)) return std::string(xdg_data_home) + "/winnow";
  return (absolute(home) ? std::string(home) : account.home) + "/.local/share/winnow";
}

StatusOr<std::string> PrepareDataDir(const std::string& path, const Account& account) {
  if (path.empty()) return FailedPrecondition("the data directory's name is empty");
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return std::iscntrl(c); })) {
    return FailedPrecondition("the data directory's name holds a control character");
  }
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).lexically_normal().string();
  if (error) return CannotUse(path, error.message());
  WINNOW_RETURN_IF_ERROR(MakeWithParents(absolute, account));
  const std::string canonical = fs::canonical(absolute, error).string();
  if (error) return CannotUse(path, error.message());
  WINNOW_RETURN_IF_ERROR(CheckWritable(canonical));
  WINNOW_RETURN_IF_ERROR(LetAccountIn(canonical, account));
  WINNOW_RETURN_IF_ERROR(CheckAccountCanEnter(canonical, account));
  return canonical;
}

Status MakePrivateDir(const std::string& path, const Account& account) {
  if (mkdir(path.c_str(), 0700) == 0) {
    if (chmod(path.c_str(), 0700) == 0 && chown(path.c_str(), account.uid, account.gid) == 0) {
      return OkStatus();
    }
    return FailedPrecondition("cannot set owner and mode of " + path + ": " + Errno());
  }
  if (errno != EEXIST) return FailedPrecondition("cannot make " + path + ": " + Errno());
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return FailedPrecondition(path + ": " + Errno());
  if (S_ISDIR(info.st_mode) && info.st_uid == account.uid && (info.st_mode & 0077) == 0) {
    return OkStatus();
  }
  return FailedPrecondition(path + " must be a directory of user " + account.name +
                            " with mode 0700, and is not: remove it and start again");
}

StatusOr<std::string> PrepareSocketDir(const std::string& data_dir, const Account& account,
                                       const char* runtime_dir) {
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1 - (sizeof(kSocketFile) - 1);
  std::string dir = data_dir + "/run";
  // libpq reads a comma as the end of a host's name.
  if (dir.size() > kLongest || dir.find(',') != std::string::npos) {
    // The runtime directory of root is closed to the account.
    const bool usable = !account.drop && runtime_dir != nullptr && runtime_dir[0] == '/' &&
                        access(runtime_dir, W_OK | X_OK) == 0;
    const std::string name = "/winnow-" + std::to_string(account.uid) + "-" +
                             std::to_string(std::hash<std::string>()(data_dir));
    dir = (usable ? std::string(runtime_dir) : std::string("/tmp")) + name;
    if (dir.size() > kLongest) dir = "/tmp" + name;
  }
  WINNOW_RETURN_IF_ERROR(MakePrivateDir(dir, account));
  return dir;
}

Status SyncDir(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return Internal("cannot sync " + path + ": " + Errno());
  return OkStatus();
}

}  // namespace winnow::pg
