#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/dedup/index/overlap.h"
#include "services/platform/status.h"

namespace winnow::dedup {

// The frozen order of all tokens, rare first: a token is its rank. Tokens that the shipped list
// knows come last, the most frequent at the very end; all others come before them, spread by hash.
// Two unknown tokens that share a hash (1 in 4 billion) count as one.
//
// The order may never change under a running index: a new list is a new version, and an instance
// that finds another version in the store reloads its window.
class TokenOrder {
 public:
  // `list` (data/token_order.txt): "version <n>", then tokens, most frequent first, one a line.
  // Error: INVALID_ARGUMENT that names the line.
  static StatusOr<TokenOrder> Parse(std::string_view list);

  int64_t version() const { return version_; }

  index::Token Rank(std::string_view token) const;

  // The tokens of a normalised text: ascending, no repeats.
  std::vector<index::Token> TokensOf(std::string_view normalized) const;

 private:
  int64_t version_ = 0;
  std::unordered_map<uint64_t, index::Token> ranks_;  // by hash
  uint64_t unknown_ranks_ = 0;                        // number of ranks for tokens not listed
};

}  // namespace winnow::dedup
