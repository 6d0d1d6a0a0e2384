#include <gtest/gtest.h>

#include <unordered_map>

#include "services/dedup/index/window_index.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/dedup/dedup_world.h"
#include "tests/support/news/news_stream.h"

// Real news, where WINNOW_DATA or ../shared/data has it.
namespace winnow::dedup::index {
namespace {

constexpr std::chrono::hours kWindow{24};

// Every entry of the window that shares a token is counted, without any filter.
class FullIndex {
 public:
  void Append(const TokenSet& title, Time arrival) {
    const auto number = static_cast<uint32_t>(titles_.size());
    for (const Token token : title) holders_[token].push_back(number);
    titles_.push_back(title);
    arrivals_.push_back(arrival);
  }
  std::map<int64_t, uint32_t> Find(const TokenSet& title, double threshold, Time earliest) const {
    const auto first = static_cast<uint32_t>(
        std::lower_bound(arrivals_.begin(), arrivals_.end(), earliest) - arrivals_.begin());
    std::unordered_map<uint32_t, uint32_t> shared;
    for (const Token token : title) {
      const auto holders = holders_.find(token);
      if (holders == holders_.end()) continue;
      for (auto at = holders->second.rbegin(); at != holders->second.rend() && *at >= first; ++at) {
        ++shared[*at];
      }
    }
    std::map<int64_t, uint32_t> found;
    for (const auto& [number, count] : shared) {
      const size_t united = title.size() + titles_[number].size() - count;
      if (static_cast<double>(count) / static_cast<double>(united) >= threshold) {
        found[number + 1] = count;
      }
    }
    return found;
  }

 private:
  std::unordered_map<Token, std::vector<uint32_t>> holders_;
  std::vector<TokenSet> titles_;
  std::vector<Time> arrivals_;
};

class RealStream : public ::testing::TestWithParam<double> {};

TEST_P(RealStream, NoPairIsMissedAndNoneMadeUp) {
  const auto news = test::ReadNews("stream-2026-02a.jsonl.gz");
  if (news.empty()) GTEST_SKIP() << "not run: WINNOW_DATA holds no news";
  const TextRules rules = LoadTextRules().value();
  const double threshold = GetParam();
  WindowIndex index({.floor = threshold});
  FullIndex full;
  ProbeScratch scratch;
  int64_t seq = 0;
  size_t pairs = 0;
  Time arrival = news.front().publish_time;
  for (const test::NewsItem& item : news) {
    arrival = std::max(arrival, item.publish_time);
    const TokenSet title = rules.Of(item.title, "", "").title;
    const Time earliest = arrival - kWindow;
    std::vector<Match> matches;
    if (const auto edge = index.EdgeAt(earliest)) {
      index.FindSimilar(title, index.floor_bounds(), *edge, scratch, matches);
    }
    std::map<int64_t, uint32_t> found;
    for (const Match& match : matches) found[index.seq(match.ref)] = match.overlap;
    ASSERT_EQ(found, full.Find(title, threshold, earliest)) << "item " << seq + 1;
    pairs += found.size();
    index.Append({++seq, arrival, 0, 0, 0, title, {}, {}});
    index.Expire(earliest);
    full.Append(title, arrival);
  }
  RecordProperty("pairs", std::to_string(pairs));
  EXPECT_GT(pairs, 100U);
}

INSTANTIATE_TEST_SUITE_P(Thresholds, RealStream, ::testing::Values(0.5, 0.8),
                         [](const auto& tested) {
                           return "AtPercent" +
                                  std::to_string(static_cast<int>(tested.param * 100));
                         });

}  // namespace
}  // namespace winnow::dedup::index
