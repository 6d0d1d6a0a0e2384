#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::classification {

// Steps of the streams that wait for something to happen in the store, each again and again on one
// thread until it ends. Reading by poll: what another process wrote is seen too.
class WatchLoop {
 public:
  // Sends what is new. False: the stream has ended. With an error the watches stop.
  using Step = std::function<bool()>;

  explicit WatchLoop(std::chrono::milliseconds poll) : poll_(poll) {}
  ~WatchLoop() { Stop(); }

  void Start();
  // Drops the steps, and with them their subscribers; the binder has ended those by then.
  void Stop();
  void Add(Step step);

 private:
  void Loop();

  const std::chrono::milliseconds poll_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Step> added_;
  std::thread thread_;
};

}  // namespace winnow::classification
