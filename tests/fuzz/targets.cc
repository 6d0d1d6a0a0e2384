#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace winnow::fuzz {

std::span<const Target> Targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> targets;
    for (const auto area :
         {CollectorTargets(), DedupTargets(), NewsFeedTargets(), PlatformTargets()}) {
      targets.insert(targets.end(), area.begin(), area.end());
    }
    return targets;
  }();
  return all;
}

void Fail(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  std::abort();
}

}  // namespace winnow::fuzz
