#include "services/platform/process/file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "services/platform/process/fd.h"

namespace winnow {

StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return FailedPrecondition(std::strerror(errno));
  std::string text;
  for (std::array<char, 16 * 1024> buffer;;) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FailedPrecondition(std::strerror(errno));
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(size));
    if (text.size() > max_bytes) {
      return FailedPrecondition("it is larger than " + std::to_string(max_bytes / 1024) + " KiB");
    }
  }
}

}  // namespace winnow
