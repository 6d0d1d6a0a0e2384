#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <utility>

#include "services/platform/base/status.h"
#include "services/platform/grpc/call/watch_loop.h"

namespace winnow::classification {

// The streams that wait for something to happen in the store.
class StoreWatches {
 public:
  // Sends what is new. False: the stream has ended. It ends its stream itself at an error.
  using Step = std::function<bool()>;

  explicit StoreWatches(std::chrono::milliseconds poll)
      : loop_({"WatchRun and WatchClassifications", kMaxWatches, poll}) {}

  void Start() {
    loop_.Start([](std::list<Watch>& watches) {
      watches.remove_if([](const Watch& watch) { return !watch.step(); });
      return false;
    });
  }
  void Stop() { loop_.Stop(); }
  // Errors: as WatchLoop::Add.
  Status Add(Step step) { return loop_.Add({std::move(step)}); }

 private:
  static constexpr size_t kMaxWatches = 1'000;

  struct Watch {
    Step step;
  };
  rpc::WatchLoop<Watch> loop_;
};

}  // namespace winnow::classification
