#include "services/app/client/canceller.h"

#include <poll.h>

namespace winnow::app {
namespace {

constexpr int kLookEveryMs = 100;

}  // namespace

Canceller::Canceller(const Interrupt& interrupt, grpc::ClientContext& context)
    : thread_([this, &interrupt, &context] {
        while (!done_) {
          pollfd signal{interrupt.fd(), POLLIN, 0};
          ::poll(&signal, 1, kLookEveryMs);
          if (!interrupt.requested()) continue;
          context.TryCancel();
          return;
        }
      }) {}

Canceller::~Canceller() {
  done_ = true;
  thread_.join();
}

}  // namespace winnow::app
