#include "services/platform/process/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

namespace winnow {
namespace {

constexpr rlim_t kEnough = 1'048'576;  // beyond it the kernel's table of descriptors costs memory

// What the process was started with; 0 while nothing was raised.
std::atomic<rlim_t> g_inherited{0};

}  // namespace

StatusOr<size_t> RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Internal(std::string("getrlimit(RLIMIT_NOFILE): ") + std::strerror(errno));
  }
  const rlim_t wanted = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  if (wanted == limit.rlim_cur) return static_cast<size_t>(wanted);
  const rlim_t inherited = limit.rlim_cur;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Internal(std::string("setrlimit(RLIMIT_NOFILE): ") + std::strerror(errno));
  }
  rlim_t none = 0;
  g_inherited.compare_exchange_strong(none, inherited);
  return static_cast<size_t>(wanted);
}

void RestoreDescriptorLimit() {
  const rlim_t inherited = g_inherited.load();
  rlimit limit{};
  if (inherited == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(inherited, limit.rlim_max);
  // It can only be lowered here, which is always allowed.
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace winnow
