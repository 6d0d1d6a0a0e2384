#include "services/platform/postgres/pool/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <pqxx/notification>

#include "services/platform/postgres/session/socket_limit.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

constexpr int kFirstBackoffMs = 100;
constexpr int kLongestBackoffMs = 5000;
constexpr int kLookAtPrimaryMs = 500;

class Receiver final : public pqxx::notification_receiver {
 public:
  Receiver(pqxx::connection_base& connection, std::function<void(const std::string&)> receive)
      : notification_receiver(connection, kLogChannel), receive_(std::move(receive)) {}
  void operator()(const std::string& payload, int) override { receive_(payload); }

 private:
  std::function<void(const std::string&)> receive_;
};

}  // namespace

Listener::Listener(Endpoint endpoint)
    : endpoint_(std::move(endpoint)), stop_event_(eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this] { Loop(); });
}

Listener::~Listener() {
  stop_.request_stop();
  eventfd_write(stop_event_.get(), 1);
  thread_.join();
}

std::shared_ptr<void> Listener::Subscribe(std::string payload, std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  const int64_t id = ++next_id_;
  subscriptions_[id] = {std::move(payload), std::move(wake)};
  return std::shared_ptr<void>(nullptr, [this, id](void*) {
    std::lock_guard unsubscribe(mutex_);
    subscriptions_.erase(id);
  });
}

void Listener::Loop() {
  int backoff_ms = kFirstBackoffMs;
  while (true) {
    try {
      ListenUntilLost();
      return;
    } catch (const std::exception& e) {
      if (listening_) backoff_ms = kFirstBackoffMs;
      log::Debug("not listening for NOTIFY: falling back to polling", {{"why", e.what()}});
    }
    listening_ = false;
    if (!Wait(-1, backoff_ms)) return;
    backoff_ms = std::min(backoff_ms * 2, kLongestBackoffMs);
  }
}

// Returns when the listener is to end, and throws when the connection is lost.
void Listener::ListenUntilLost() {
  const auto connection = ConnectUnlessStopped(endpoint_, stop_.get_token());
  if (!connection) return;
  const int socket = connection->socket();
  std::optional<SocketLimit> limit(std::in_place, socket, kSetupLimit);
  // A server that falls silent now holds no stop up.
  const std::stop_callback cut(stop_.get_token(), [socket] { shutdown(socket, SHUT_RDWR); });
  Receiver receiver(connection->driver(), [this](const std::string& payload) { WakeFor(payload); });
  limit.reset();
  listening_ = true;
  WakeAll();
  const int timeout_ms = endpoint_.primary ? kLookAtPrimaryMs : -1;
  while (Wait(socket, timeout_ms)) {
    connection->RequireCurrent();
    connection->driver().get_notifs();
  }
}

bool Listener::Wait(int socket, int timeout_ms) const {
  pollfd ready[] = {{stop_event_.get(), POLLIN, 0}, {socket, POLLIN, 0}};
  while (poll(ready, 2, timeout_ms) < 0 && errno == EINTR) {
  }
  return ready[0].revents == 0;
}

void Listener::WakeAll() {
  std::lock_guard lock(mutex_);
  for (const auto& [id, subscription] : subscriptions_) subscription.wake();
}

void Listener::WakeFor(const std::string& payload) {
  std::lock_guard lock(mutex_);
  for (const auto& [id, subscription] : subscriptions_) {
    if (subscription.payload == payload) subscription.wake();
  }
}

}  // namespace winnow::pg
