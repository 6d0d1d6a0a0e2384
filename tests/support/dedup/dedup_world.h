#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "services/dedup/index/overlap.h"
#include "services/platform/base/clock.h"

// Made-up worlds of documents for property tests of the dedup index: token sets with a skewed
// vocabulary, many of them variations of earlier ones, arriving at fuzzed times.
namespace winnow::dedup {

using TokenSet = std::vector<index::Token>;

// A world is its seed: a failing one is run again by its number alone.
class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), has_long_texts_(OneIn(8)), order_(OneIn(3) ? random_() | 1 : 1) {}

  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool OneIn(uint64_t chance) { return Below(chance) == 0; }
  template <class T>
  T OneOf(std::initializer_list<T> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(Below(values.size())));
  }

  // Frequent tokens are large, as in the frozen order; in some worlds the order is any other.
  index::Token NextToken() {
    const uint64_t span = uint64_t{1} << (1 + Below(12));
    return static_cast<index::Token>((4'294'967'295U - Below(span) * 977) * order_);
  }
  // Most are about as long as titles are; in some worlds they are longer than any filter's table.
  TokenSet NextSet() {
    uint64_t length = 1 + Below(30);
    if (OneIn(12)) length = 1 + Below(3);
    if (has_long_texts_ && !OneIn(3)) length = 100 + Below(450);
    if (OneIn(60)) length = 0;
    std::set<index::Token> tokens;
    for (uint64_t i = 0; i < length; ++i) {
      tokens.insert(length > 90 ? static_cast<index::Token>(Below(900)) : NextToken());
    }
    return {tokens.begin(), tokens.end()};
  }
  // The set with a few tokens dropped, added or changed.
  TokenSet Vary(const TokenSet& set) {
    std::set<index::Token> tokens(set.begin(), set.end());
    for (uint64_t edits = Below(2 + set.size() / 3); edits > 0; --edits) {
      if (!tokens.empty() && !OneIn(3)) {
        auto at = tokens.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(Below(tokens.size())));
        tokens.erase(at);
      }
      if (!OneIn(3)) tokens.insert(NextToken());
    }
    return {tokens.begin(), tokens.end()};
  }

 private:
  std::mt19937_64 random_;
  bool has_long_texts_;
  uint64_t order_;  // odd: ranks times it are a permutation
};

// Number of tokens that both sets hold, the plain way.
inline size_t CountShared(const TokenSet& a, const TokenSet& b) {
  size_t shared = 0;
  for (const index::Token *x = a.data(), *y = b.data(), *x_end = x + a.size(),
                          *y_end = y + b.size();
       x != x_end && y != y_end;) {
    if (*x == *y) ++shared;
    const bool x_moves = *x <= *y;
    if (*y <= *x) ++y;
    if (x_moves) ++x;
  }
  return shared;
}

// How many worlds a property test runs: WINNOW_WORLDS, for long runs by hand, or `usual`.
inline uint64_t WorldCount(uint64_t usual) {
  const char* asked = std::getenv("WINNOW_WORLDS");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

// How many documents a world has: WINNOW_WORLD_SIZE, or `usual`.
inline int WorldSize(int usual) {
  const char* asked = std::getenv("WINNOW_WORLD_SIZE");
  return asked == nullptr ? usual : std::atoi(asked);
}

}  // namespace winnow::dedup
