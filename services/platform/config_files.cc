#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "services/platform/config.h"

namespace winnow {
namespace {

constexpr size_t kMaxConfigSize = 1024 * 1024;
constexpr size_t kMaxSecretSize = 64 * 1024;

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The file's text. Pipes do too ("--config <(...)"). Error: a text that says what failed and why.
Status ReadWhole(const std::string& path, size_t max_size, std::string& text) {
  const auto fail = [](const std::string& why) { return InvalidField("", why); };
  const FileDescriptor file(path);
  if (file.get() < 0) return fail(std::strerror(errno));
  for (std::array<char, 16 * 1024> buffer;;) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(std::strerror(errno));
    if (size == 0) return OkStatus();
    text.append(buffer.data(), static_cast<size_t>(size));
    if (text.size() > max_size) {
      return fail("it is larger than " + std::to_string(max_size / 1024) + " KiB");
    }
  }
}

}  // namespace

StatusOr<config::v1::Config> ReadConfigFile(const std::string& path) {
  std::string text;
  if (const Status read = ReadWhole(path, kMaxConfigSize, text); !read.ok()) {
    return InvalidField("", "the config file " + path + " cannot be read: " + Message(read) +
                                "; give the path of a JSON file");
  }
  return ParseConfig(text, path);
}

StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view field) {
  std::string text;
  if (const Status read = ReadWhole(path, kMaxSecretSize, text); !read.ok()) {
    return InvalidField(std::string(field), "the file " + path +
                                                " cannot be read: " + Message(read) +
                                                "; give the path of a file that holds the secret");
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) {
    return InvalidField(std::string(field),
                        "the file " + path + " is empty: write the secret into it");
  }
  return text;
}

}  // namespace winnow
