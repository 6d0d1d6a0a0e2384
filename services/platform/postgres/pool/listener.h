#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "services/platform/postgres/pool/endpoint.h"
#include "services/platform/process/fd.h"

namespace winnow::pg {

inline constexpr char kLogChannel[] = "winnow_log";

// Passes NOTIFYs of kLogChannel on, on a connection and a thread of its own. A hint only: who
// subscribes must poll as well.
class Listener {
 public:
  explicit Listener(Endpoint endpoint);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Calls `wake`, on the listener's thread, at each NOTIFY with this payload, and once listening
  // begins anew, since some may have been missed; until the handle is destroyed.
  [[nodiscard]] std::shared_ptr<void> Subscribe(std::string payload, std::function<void()> wake);

  bool listening() const { return listening_; }

 private:
  struct Subscription {
    std::string payload;
    std::function<void()> wake;
  };

  void Loop();
  void ListenUntilLost();
  void WakeAll();
  void WakeFor(const std::string& payload);
  // False when the listener is to end.
  bool Wait(int socket, int timeout_ms) const;

  const Endpoint endpoint_;
  std::stop_source stop_;
  Fd stop_event_;  // the same for poll()
  std::atomic<bool> listening_ = false;
  std::mutex mutex_;
  std::map<int64_t, Subscription> subscriptions_;
  int64_t next_id_ = 0;
  std::thread thread_;
};

}  // namespace winnow::pg
