#include "services/platform/grpc/runtime/method_stats.h"

namespace winnow::rpc {

std::string_view CodeName(StatusCode code) {
  static constexpr std::array<std::string_view, 17> kNames = {"OK",
                                                              "CANCELLED",
                                                              "UNKNOWN",
                                                              "INVALID_ARGUMENT",
                                                              "DEADLINE_EXCEEDED",
                                                              "NOT_FOUND",
                                                              "ALREADY_EXISTS",
                                                              "PERMISSION_DENIED",
                                                              "RESOURCE_EXHAUSTED",
                                                              "FAILED_PRECONDITION",
                                                              "ABORTED",
                                                              "OUT_OF_RANGE",
                                                              "UNIMPLEMENTED",
                                                              "INTERNAL",
                                                              "UNAVAILABLE",
                                                              "DATA_LOSS",
                                                              "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

MethodStats::MethodStats(const Method& method, Metrics& metrics)
    : name_(method.name),
      metrics_(metrics),
      duration_(metrics.GetHistogram("winnow_rpc_duration_seconds",
                                     "Time from a call's arrival to its answer.",
                                     Metrics::LatencyBuckets(), {{"method", name_}})),
      in_flight_gauge_(metrics.AddGauge(
          "winnow_rpc_in_flight", "Calls that have no answer yet.", {{"method", name_}},
          [this] { return in_flight_.load(std::memory_order_relaxed); })) {}

void MethodStats::End(StatusCode code, std::chrono::steady_clock::duration took) {
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  CounterOf(code).Increment();
  duration_.Observe(std::chrono::duration<double>(took).count());
}

Counter& MethodStats::CounterOf(StatusCode code) {
  const size_t index = std::min(static_cast<size_t>(code), kCodes - 1);
  Counter* counter = counters_[index].load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &metrics_.GetCounter("winnow_rpc_requests_total", "Calls answered, by status code.",
                                   {{"method", name_}, {"code", std::string(CodeName(code))}});
    counters_[index].store(counter, std::memory_order_release);
  }
  return *counter;
}

}  // namespace winnow::rpc
