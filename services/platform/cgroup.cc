#include "services/platform/cgroup.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "services/platform/config.h"

namespace winnow {
namespace {

using std::filesystem::path;

// The first line; empty when there is no such file, which is usual: groups differ by system.
std::string FirstLine(const path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<int> Cpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return std::max(1, static_cast<int>(std::min(std::ceil(quota / period), 1e6)));
}

// Version 2: "max 100000" or "150000 100000".
std::optional<int> QuotaV2(const path& group) {
  std::istringstream line(FirstLine(group / "cpu.max"));
  double quota = 0;
  double period = 0;
  line >> quota >> period;
  return line.fail() ? std::nullopt : Cpus(quota, period);
}

std::optional<int> QuotaV1(const path& group) {
  double quota = 0;
  double period = 0;
  std::istringstream(FirstLine(group / "cpu.cfs_quota_us")) >> quota;
  std::istringstream(FirstLine(group / "cpu.cfs_period_us")) >> period;
  return Cpus(quota, period);
}

std::optional<int> Less(std::optional<int> a, std::optional<int> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The least over `group` and all above it up to `mount`. Inside a container the group's path is
// often the host's and does not exist there: then the mount is the container's own group.
template <typename Quota>
std::optional<int> LeastUpTo(const path& mount, const path& group, Quota quota) {
  std::optional<int> least = quota(mount);
  path at = mount;
  for (const path& part : group.relative_path()) {
    if (part == "..") break;  // beyond what this namespace shows
    at /= part;
    least = Less(least, quota(at));
  }
  return least;
}

bool HasCpuController(std::string_view controllers) {
  for (size_t begin = 0; begin <= controllers.size();) {
    const size_t end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == "cpu") return true;
    begin = end + 1;
  }
  return false;
}

int AffinityCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails with more CPUs than a cpu_set_t holds (1,024).
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<int> CgroupCpus(const path& root) {
  const path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<int> least;
  // hierarchy:controllers:path, e.g. "0::/user.slice" (version 2) or "4:cpu,cpuacct:/docker/1"
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) {
      least = Less(least, LeastUpTo(mounts, group, QuotaV2));
    } else if (HasCpuController(controllers)) {
      const path mount = mounts / controllers;
      least = Less(least, LeastUpTo(exists(mount) ? mount : mounts / "cpu", group, QuotaV1));
    }
  }
  return least;
}

int CountCpus() {
  const int affinity = std::max(1, AffinityCpus());
  return std::min(affinity, CgroupCpus("/").value_or(affinity));
}

}  // namespace winnow
