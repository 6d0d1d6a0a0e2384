#pragma once

#include <grpcpp/client_context.h>

#include <atomic>
#include <thread>

#include "services/app/client/interrupt.h"

namespace winnow::app {

// Ends a call when a signal comes, as long as it lives.
class Canceller {
 public:
  Canceller(const Interrupt& interrupt, grpc::ClientContext& context);
  ~Canceller();
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace winnow::app
