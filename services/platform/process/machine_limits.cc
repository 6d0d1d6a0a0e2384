#include "services/platform/process/machine_limits.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "services/platform/process/cgroup.h"

namespace winnow {
namespace {

int AffinityCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails with more CPUs than a cpu_set_t holds (1,024).
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

// "MemTotal:       24684092 kB"; 0 when it cannot be read.
int64_t MachineMemory(const std::filesystem::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string name; in >> name;) {
    int64_t kibibytes = 0;
    if (name == "MemTotal:" && in >> kibibytes) return kibibytes * 1024;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

MachineLimits ReadMachineLimits(const std::filesystem::path& root) {
  MachineLimits limits;
  limits.cpus = std::max(1, AffinityCpus());
  if (const auto quota = CgroupCpus(root); quota && *quota < limits.cpus) {
    limits.cpus = *quota;
    limits.has_cpu_quota = true;
  }
  limits.memory_bytes = MachineMemory(root);
  // A limit above the machine's memory limits nothing.
  if (const auto limit = CgroupMemory(root);
      limit && (limits.memory_bytes == 0 || *limit < limits.memory_bytes)) {
    limits.memory_bytes = *limit;
    limits.has_memory_limit = true;
  }
  return limits;
}

}  // namespace winnow
