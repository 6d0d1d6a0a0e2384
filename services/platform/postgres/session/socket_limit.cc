#include "services/platform/postgres/session/socket_limit.h"

#include <sys/socket.h>

namespace winnow::pg {

SocketLimit::SocketLimit(int socket, std::chrono::milliseconds limit)
    : thread_([this, socket, limit] {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, limit, [this] { return done_; })) shutdown(socket, SHUT_RDWR);
      }) {}

SocketLimit::~SocketLimit() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

}  // namespace winnow::pg
