#include "services/platform/postgres/server/file_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace winnow::pg {

StatusOr<std::optional<Fd>> TryLock(const std::string& path) {
  Fd fd = Fd::AboveStandardStreams(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return FailedPrecondition("cannot open lock file " + path + ": " + strerror(errno));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return std::optional<Fd>(std::move(fd));
  if (errno == EWOULDBLOCK) return std::optional<Fd>();
  return FailedPrecondition("cannot lock " + path + ": " + strerror(errno) +
                            " (the file system must support flock)");
}

}  // namespace winnow::pg
