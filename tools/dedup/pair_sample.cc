// Draws pairs of titles to be read and labelled, from a file of real news (WINNOW_DATA):
//
//   pair_sample FILE SEED PER_BAND
//
// Pairs are of two channels, at most 24 h apart, with title Jaccard in a band. Written is one line
// a pair: both line numbers in the file, the band, and, for the reader alone, what to read. Labels
// are kept without texts (tests/data/dedup_pairs.txt).
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/index/window_index.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/news/news_stream.h"

namespace {

using winnow::Micros;
using winnow::Time;
using winnow::dedup::TextRules;
using namespace winnow::dedup::index;

constexpr std::chrono::hours kWindow{24};
constexpr std::array<double, 5> kBands = {0.2, 0.3, 0.4, 0.5, 0.8};

struct Pair {
  size_t earlier = 0;
  size_t later = 0;
  double jaccard = 0;
};

using Bands = std::array<std::vector<Pair>, kBands.size() - 1>;

void AddPair(const Pair& pair, Bands& bands) {
  for (size_t band = 0; band < bands.size(); ++band) {
    if (pair.jaccard >= kBands[band] && pair.jaccard < kBands[band + 1]) {
      bands[band].push_back(pair);
    }
  }
}

Bands FindPairs(const std::vector<winnow::test::NewsItem>& news, const TextRules& rules) {
  Bands bands;
  WindowIndex window({.floor = kBands.front()});
  ProbeScratch scratch;
  std::vector<Match> found;
  Time arrival = news.front().publish_time;
  for (size_t i = 0; i < news.size(); ++i) {
    arrival = std::max(arrival, news[i].publish_time);
    const auto print = rules.Of(news[i].title, "", "");
    found.clear();
    if (const auto edge = window.EdgeAt(arrival - kWindow)) {
      window.FindSimilar(print.title, window.floor_bounds(), *edge, scratch, found);
    }
    for (const Match& match : found) {
      const auto earlier = static_cast<size_t>(window.seq(match.ref) - 1);
      if (news[earlier].channel == news[i].channel) continue;
      const auto length = static_cast<uint32_t>(print.title.size());
      AddPair({earlier, i, Jaccard(match.overlap, length, match.length)}, bands);
    }
    window.Append({static_cast<int64_t>(i + 1), arrival, 0, 0, 0, print.title, {}, {}});
    window.Expire(arrival - kWindow);
  }
  return bands;
}

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 0;
  uint64_t per_band = 0;
  if (argc != 4 || !ParseNumber(argv[2], seed) || !ParseNumber(argv[3], per_band)) {
    std::cerr << "usage: pair_sample FILE SEED PER_BAND\n";
    return 2;
  }
  const auto news = winnow::test::ReadNews(argv[1]);
  const auto rules = winnow::dedup::LoadTextRules();
  if (news.empty() || !rules.ok()) {
    std::cerr << "no such file of news in WINNOW_DATA: " << argv[1] << "\n";
    return 1;
  }
  Bands bands = FindPairs(news, *rules);
  std::mt19937_64 random(seed);
  for (size_t band = 0; band < bands.size(); ++band) {
    std::cout << "# [" << kBands[band] << ", " << kBands[band + 1] << "): " << bands[band].size()
              << " pairs\n";
    std::shuffle(bands[band].begin(), bands[band].end(), random);
    bands[band].resize(std::min<size_t>(bands[band].size(), per_band));
    for (const Pair& pair : bands[band]) {
      const auto& a = news[pair.earlier];
      const auto& b = news[pair.later];
      std::cout << pair.earlier + 1 << ' ' << pair.later + 1 << ' ' << kBands[band] << ' '
                << a.title << "  ||  " << b.title << '\n';
    }
  }
  return std::cout.flush() ? 0 : 1;
}
