#pragma once

#include <filesystem>
#include <optional>

namespace winnow {

// CPUs that this process's cgroup and those above it grant by quota, rounded up; nothing without a
// quota. Knows version 2 and version 1. `root` is "/" but in tests.
std::optional<int> CgroupCpus(const std::filesystem::path& root);

}  // namespace winnow
