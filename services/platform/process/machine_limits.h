#pragma once

#include <cstdint>
#include <filesystem>

namespace winnow {

// What this process may use of its machine. Defaults are derived from it (resource_defaults.h).
struct MachineLimits {
  double cpus = 1;  // the CPU quota, or the processors that this process may run on
  bool has_cpu_quota = false;
  int64_t memory_bytes = 0;  // the memory limit, or the machine's memory; 0: unknown
  bool has_memory_limit = false;
};

// By cgroup (both versions, the smallest limit of all groups above this process), CPU affinity and
// the machine's memory. `root` is "/" but in tests.
MachineLimits ReadMachineLimits(const std::filesystem::path& root = "/");

}  // namespace winnow
