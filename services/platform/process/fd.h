#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace winnow {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }

  // Takes `fd` and moves it above the standard streams: with stdin closed, open() answers 0, and
  // a child that sets up its own stdin would overwrite it.
  static Fd AboveStandardStreams(int fd) {
    if (fd < 0) return Fd();
    Fd low(fd);
    return Fd(fcntl(low.get(), F_DUPFD_CLOEXEC, 10));
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives it up: the caller closes it.
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace winnow
