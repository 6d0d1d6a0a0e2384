#pragma once

#include <cstdint>
#include <span>

namespace winnow::dedup::index {

// A token by its rank in the frozen token order: smaller is rarer.
using Token = uint32_t;

// Number of tokens that two sets (ascending, no repeats) share.
uint32_t Overlap(std::span<const Token> a, std::span<const Token> b);

// The same where it is at least `need`; else 0, found out as early as possible.
uint32_t OverlapAtLeast(std::span<const Token> a, std::span<const Token> b, uint32_t need);

}  // namespace winnow::dedup::index
