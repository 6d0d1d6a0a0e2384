#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace winnow {

// What /proc says of a process; what cannot be read is left out.
struct ProcessSample {
  std::optional<double> cpu_seconds;
  std::optional<double> start_time_seconds;  // since 1970
  std::optional<int64_t> resident_bytes;
  std::optional<int64_t> virtual_bytes;
  std::optional<int64_t> threads;
  std::optional<int64_t> open_fds;
  std::optional<int64_t> max_fds;
};

// Of this process. `proc` is "/proc" but in tests.
ProcessSample ReadProcess(const std::filesystem::path& proc);

// The sample under the names that every Prometheus client library uses (process_*).
std::vector<prometheus::MetricFamily> ProcessFamilies(const ProcessSample& sample);

}  // namespace winnow
