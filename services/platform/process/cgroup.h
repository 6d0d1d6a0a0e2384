#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace winnow {

// CPUs that this process's cgroup and those above it grant by quota, e.g. 1.5; nothing without a
// quota. Knows version 2 and version 1. `root` is "/" but in tests.
std::optional<double> CgroupCpus(const std::filesystem::path& root);

// Bytes of memory that this process's cgroup and those above it allow: the smallest limit (also
// memory.high, beyond which version 2 slows a process down). Nothing without a limit.
std::optional<int64_t> CgroupMemory(const std::filesystem::path& root);

}  // namespace winnow
