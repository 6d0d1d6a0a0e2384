#include "services/dedup/text/token_order.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "services/dedup/text/tokens.h"
#include "services/platform/base/hash.h"

namespace winnow::dedup {
namespace {

constexpr std::string_view kVersion = "version ";
constexpr size_t kMaxListed = 1'000'000;

Status InLine(size_t number, std::string why) {
  return InvalidField("token_order.txt line " + std::to_string(number), std::move(why));
}

}  // namespace

StatusOr<TokenOrder> TokenOrder::Parse(std::string_view list) {
  TokenOrder order;
  std::vector<uint64_t> hashes;
  size_t number = 0;
  while (!list.empty()) {
    const size_t end = std::min(list.find('\n'), list.size());
    const std::string_view line = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (order.version_ == 0) {
      const std::string_view digits = line.substr(std::min(line.size(), kVersion.size()));
      const auto parsed =
          std::from_chars(digits.data(), digits.data() + digits.size(), order.version_);
      if (!line.starts_with(kVersion) || parsed.ptr != digits.data() + digits.size() ||
          order.version_ < 1) {
        return InLine(number, "is not 'version <n>': a list begins with its version");
      }
      continue;
    }
    if (hashes.size() == kMaxListed) return InLine(number, "list at most 1,000,000 tokens");
    hashes.push_back(Hash64(line));
  }
  if (order.version_ == 0) return InLine(number, "the list has no version");
  order.unknown_ranks_ = std::numeric_limits<index::Token>::max() - hashes.size();
  order.listed_.resize(std::bit_ceil(2 * hashes.size() + 1));
  order.mask_ = order.listed_.size() - 1;
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto rank = static_cast<index::Token>(std::numeric_limits<index::Token>::max() - i);
    if (!order.List(hashes[i], rank)) {
      return InvalidField("token_order.txt", "token " + std::to_string(i + 1) + " is repeated");
    }
  }
  return order;
}

bool TokenOrder::List(uint64_t hash, index::Token rank) {
  uint64_t at = hash & mask_;
  for (; listed_[at].rank != 0; at = (at + 1) & mask_) {
    if (listed_[at].hash == hash) return false;
  }
  listed_[at] = {hash, rank};
  return true;
}

index::Token TokenOrder::RankOf(uint64_t hash) const {
  for (uint64_t at = hash & mask_; listed_[at].rank != 0; at = (at + 1) & mask_) {
    if (listed_[at].hash == hash) return listed_[at].rank;
  }
  return static_cast<index::Token>((hash >> 32) * unknown_ranks_ >> 32);
}

index::Token TokenOrder::Rank(std::string_view token) const { return RankOf(Hash64(token)); }

void TokenOrder::AppendTokens(std::string_view normalized, std::string_view compact,
                              Scratch& scratch, std::vector<index::Token>& tokens) const {
  std::vector<uint64_t>& hashes = scratch.hashes;
  hashes.clear();
  const auto add = [&](std::string_view token) {
    hashes.push_back(Hash64(token));
    __builtin_prefetch(HomeOf(hashes.back()));
  };
  ForEachGram(compact, add);
  ForEachWord(normalized, add);
  const size_t before = tokens.size();
  for (const uint64_t hash : hashes) tokens.push_back(RankOf(hash));
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(begin, tokens.end());
  tokens.erase(std::unique(begin, tokens.end()), tokens.end());
}

std::vector<index::Token> TokenOrder::TokensOf(std::string_view normalized) const {
  Scratch scratch;
  scratch.hashes.reserve(normalized.size() / 2);
  std::vector<index::Token> tokens;
  tokens.reserve(normalized.size() / 2);
  AppendTokens(normalized, Compact(normalized), scratch, tokens);
  return tokens;
}

}  // namespace winnow::dedup
