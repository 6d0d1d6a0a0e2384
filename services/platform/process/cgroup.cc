#include "services/platform/process/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace winnow {
namespace {

using std::filesystem::path;

// Version 1 writes a number near 2^63 where there is no limit.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// The first line; empty when there is no such file, which is usual: groups differ by system.
std::string FirstLine(const path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<double> Cpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return std::min(quota / period, 1e6);
}

// Version 2: "max 100000" or "150000 100000".
std::optional<double> QuotaV2(const path& group) {
  std::istringstream line(FirstLine(group / "cpu.max"));
  double quota = 0;
  double period = 0;
  line >> quota >> period;
  return line.fail() ? std::nullopt : Cpus(quota, period);
}

std::optional<double> QuotaV1(const path& group) {
  double quota = 0;
  double period = 0;
  std::istringstream(FirstLine(group / "cpu.cfs_quota_us")) >> quota;
  std::istringstream(FirstLine(group / "cpu.cfs_period_us")) >> period;
  return Cpus(quota, period);
}

// A file of one number of bytes; "max", and version 1's largest number, mean: unlimited.
std::optional<int64_t> Bytes(const path& file) {
  int64_t bytes = 0;
  std::istringstream line(FirstLine(file));
  line >> bytes;
  if (line.fail() || bytes <= 0 || bytes >= kNoLimit) return std::nullopt;
  return bytes;
}

template <typename Limit>
std::optional<Limit> Less(std::optional<Limit> a, std::optional<Limit> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<int64_t> MemoryV2(const path& group) {
  return Less(Bytes(group / "memory.max"), Bytes(group / "memory.high"));
}

std::optional<int64_t> MemoryV1(const path& group) {
  return Bytes(group / "memory.limit_in_bytes");
}

// The least over `group` and all above it up to `mount`. Inside a container the group's path is
// often the host's and does not exist there: then the mount is the container's own group.
template <typename Read>
auto LeastUpTo(const path& mount, const path& group, Read read) {
  auto least = read(mount);
  path at = mount;
  for (const path& part : group.relative_path()) {
    if (part == "..") break;  // beyond what this namespace shows
    at /= part;
    least = Less(least, read(at));
  }
  return least;
}

bool HasController(std::string_view controllers, std::string_view wanted) {
  for (size_t begin = 0; begin <= controllers.size();) {
    const size_t end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

// The least limit of a controller over all groups of this process, by either version.
template <typename ReadV2, typename ReadV1>
auto LeastOf(const path& root, const char* controller, ReadV2 read_v2, ReadV1 read_v1) {
  const path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  decltype(read_v2(mounts)) least;
  // hierarchy:controllers:path, e.g. "0::/user.slice" (version 2) or "4:cpu,cpuacct:/docker/1"
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const path group = line.substr(second + 1);
    if (controllers.empty()) {
      least = Less(least, LeastUpTo(mounts, group, read_v2));
    } else if (HasController(controllers, controller)) {
      const path mount = mounts / controllers;
      least = Less(least, LeastUpTo(exists(mount) ? mount : mounts / controller, group, read_v1));
    }
  }
  return least;
}

}  // namespace

std::optional<double> CgroupCpus(const path& root) {
  return LeastOf(root, "cpu", QuotaV2, QuotaV1);
}

std::optional<int64_t> CgroupMemory(const path& root) {
  return LeastOf(root, "memory", MemoryV2, MemoryV1);
}

}  // namespace winnow
