#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "services/platform/base/status.h"
#include "services/platform/grpc/runtime/method.h"
#include "services/platform/process/metrics.h"

namespace winnow::rpc {

// "OK", "INVALID_ARGUMENT", ...: label values and log fields.
std::string_view CodeName(StatusCode code);

// Rate, errors and duration of one method. Lives as long as the Runtime.
class MethodStats {
 public:
  MethodStats(const Method& method, Metrics& metrics);

  const std::string& name() const { return name_; }
  void Begin() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void End(StatusCode code, std::chrono::steady_clock::duration took);

 private:
  static constexpr size_t kCodes = 17;
  Counter& CounterOf(StatusCode code);

  const std::string name_;
  Metrics& metrics_;
  Histogram& duration_;
  // Made when a code is first seen: most methods never see most codes.
  std::array<std::atomic<Counter*>, kCodes> counters_{};
  std::atomic<int> in_flight_ = 0;
  std::shared_ptr<void> in_flight_gauge_;
};

}  // namespace winnow::rpc
