#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/dedup/index/overlap.h"
#include "services/platform/base/status.h"

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

  // Working memory of AppendTokens, reused from one text to the next.
  struct Scratch {
    std::vector<uint64_t> hashes;
  };
  // Appends the tokens of a normalised text, whose form without spaces is `compact`.
  void AppendTokens(std::string_view normalized, std::string_view compact, Scratch& scratch,
                    std::vector<index::Token>& tokens) const;

 private:
  int64_t version_ = 0;
  // An open-addressing table by hash: a text has a hundred tokens and more, most of them not
  // listed, and each lookup is a miss of the cache unless it was fetched ahead.
  struct Listed {
    uint64_t hash = 0;
    index::Token rank = 0;  // 0: free; the listed ones are the highest
  };

  bool List(uint64_t hash, index::Token rank);
  const Listed* HomeOf(uint64_t hash) const { return listed_.data() + (hash & mask_); }
  index::Token RankOf(uint64_t hash) const;

  std::vector<Listed> listed_{Listed()};
  uint64_t mask_ = 0;           // of places in `listed_`, a power of two
  uint64_t unknown_ranks_ = 0;  // number of ranks for tokens not listed
};

}  // namespace winnow::dedup
