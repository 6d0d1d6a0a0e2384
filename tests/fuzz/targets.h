#pragma once

#include "tests/fuzz/fuzz.h"

// One function per area: each area's file makes them, targets.cc lists them.
namespace winnow::fuzz {

std::span<const Target> CollectorTargets();
std::span<const Target> DedupTargets();
std::span<const Target> NewsFeedTargets();
std::span<const Target> PlatformTargets();

}  // namespace winnow::fuzz
