#pragma once

#include <functional>
#include <thread>

#include "services/app/client/interrupt.h"

namespace winnow::app {

// Calls `on_signal`, on a thread of its own, each time that more signals have come than before,
// with their number; those that came before it was made count. As long as it lives.
class SignalWatch {
 public:
  SignalWatch(const Interrupt& interrupt, std::function<void(int count)> on_signal);

 private:
  std::jthread thread_;
};

}  // namespace winnow::app
