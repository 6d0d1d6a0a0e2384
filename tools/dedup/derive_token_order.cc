// Derives services/dedup/data/token_order.txt from titles, one a line on standard input:
//
//   derive_token_order VERSION LEAST_COUNT < titles > services/dedup/data/token_order.txt
//
// Tokens of at least LEAST_COUNT titles are listed, most frequent first. A new list needs a new
// VERSION. docs/dedup-quality.md says which titles the shipped list comes from.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/dedup/text/embedded_text_rules.h"
#include "services/dedup/text/tokens.h"

namespace {

using Count = std::pair<std::string, uint64_t>;

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

std::vector<Count> CountTokens(const winnow::dedup::Normalizer& normalizer, uint64_t least) {
  std::unordered_map<std::string, uint64_t> counts;
  for (std::string title; std::getline(std::cin, title);) {
    std::set<std::string> tokens;
    winnow::dedup::ForEachToken(normalizer.Normalize(title),
                                [&](std::string_view token) { tokens.emplace(token); });
    for (const std::string& token : tokens) ++counts[token];
  }
  std::vector<Count> frequent;
  for (const Count& count : counts) {
    if (count.second >= least) frequent.push_back(count);
  }
  std::sort(frequent.begin(), frequent.end(), [](const Count& a, const Count& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return frequent;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t version = 0;
  uint64_t least = 0;
  if (argc != 3 || !ParseNumber(argv[1], version) || !ParseNumber(argv[2], least)) {
    std::cerr << "usage: derive_token_order VERSION LEAST_COUNT < titles > token_order.txt\n";
    return 2;
  }
  const auto normalizer = winnow::dedup::LoadNormalizer();
  if (!normalizer.ok()) {
    std::cerr << normalizer.status() << "\n";
    return 1;
  }
  std::cout << "# Tokens by how many titles hold them, most frequent first: the order is frozen by"
               " its version.\n"
            << "version " << version << "\n";
  for (const auto& [token, count] : CountTokens(*normalizer, least)) std::cout << token << "\n";
  return std::cout.flush() ? 0 : 1;
}
