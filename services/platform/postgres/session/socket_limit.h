#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace winnow::pg {

// Shuts a socket down unless it is destroyed within `limit`: libpq waits for an answer without end,
// and a pooler whose server is away gives none. A thread each, for what is rare: new connections.
class SocketLimit {
 public:
  SocketLimit(int socket, std::chrono::milliseconds limit);
  ~SocketLimit();
  SocketLimit(const SocketLimit&) = delete;
  SocketLimit& operator=(const SocketLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace winnow::pg
