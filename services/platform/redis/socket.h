#pragma once

#include <string_view>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/redis/address.h"

namespace winnow::redis {

// A connected, non-blocking socket whose every wait ends at a deadline. Errors are
// REDIS_UNAVAILABLE, or DEADLINE_EXCEEDED when the deadline ended a wait.
class Socket {
 public:
  static StatusOr<Socket> Connect(const Address& address, Deadline deadline);
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  Status Send(std::string_view bytes, Deadline deadline);
  // At least one byte, at most `size`.
  StatusOr<size_t> Receive(char* buffer, size_t size, Deadline deadline);
  // Unexpected bytes arrived, or the connection was closed.
  bool HasInput() const;

 private:
  explicit Socket(int fd) : fd_(fd) {}
  Status Await(short events, Deadline deadline) const;

  int fd_;
};

}  // namespace winnow::redis
