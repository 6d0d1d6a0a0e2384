#include "tests/support/sync/gate.h"

namespace winnow::test {

bool Gate::Wait() {
  std::unique_lock lock(mutex_);
  ++waiting_;
  const bool opened = opened_.wait_for(lock, std::chrono::seconds(60), [this] { return open_; });
  --waiting_;
  return opened;
}

void Gate::Open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  opened_.notify_all();
}

int Gate::Waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace winnow::test
