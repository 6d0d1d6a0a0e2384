#include "services/dedup/index/window_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/dedup/dedup_world.h"

namespace winnow::dedup::index {
namespace {

using std::chrono::microseconds;

// What the index is meant to be, without an index: every document of the window is compared.
struct Known {
  int64_t seq = 0;
  Time arrival;
  TokenSet title;
  TokenSet lead;
  std::string text;
  uint64_t url_hash = 0;
  uint64_t title_hash = 0;
};

class Oracle {
 public:
  void Append(Known known) { known_.push_back(std::move(known)); }
  void RemoveAfter(int64_t last) {
    while (!known_.empty() && known_.back().seq > last) known_.pop_back();
  }
  template <class Is>
  std::map<int64_t, uint32_t> Find(Time earliest, Is is_wanted) const {
    std::map<int64_t, uint32_t> found;
    for (const Known& known : known_) {
      if (known.arrival >= earliest && is_wanted(known)) found[known.seq] = 0;
    }
    return found;
  }
  template <TokenSet Known::*kField>
  std::map<int64_t, uint32_t> FindSimilar(const TokenSet& text, double threshold,
                                          Time earliest) const {
    std::map<int64_t, uint32_t> found;
    for (auto at = known_.rbegin(); at != known_.rend() && at->arrival >= earliest; ++at) {
      if (text.empty()) break;
      const Known& known = *at;
      const size_t shared = CountShared(text, known.*kField);
      const size_t united = text.size() + (known.*kField).size() - shared;
      if (static_cast<double>(shared) / static_cast<double>(united) >= threshold) {
        found[known.seq] = static_cast<uint32_t>(shared);
      }
    }
    return found;
  }
  const std::vector<Known>& known() const { return known_; }
  const Known* Find(int64_t seq) const {
    const auto at = std::lower_bound(known_.begin(), known_.end(), seq,
                                     [](const Known& k, int64_t wanted) { return k.seq < wanted; });
    return at == known_.end() || at->seq != seq ? nullptr : &*at;
  }

 private:
  std::vector<Known> known_;
};

// One world: documents arrive, the window moves on, some are taken back, and each probe must give
// what the oracle gives.
class WindowWorld {
 public:
  explicit WindowWorld(uint64_t seed)
      : world_(seed),
        options_{.floor = world_.OneOf({0.2, 0.5, 0.5, 0.8, 1.0}),
                 .lead_floor = world_.OneOf({0.0, 0.3, 0.7, 0.8, 1.0}),
                 .segment_span = microseconds(1 + world_.Below(400)),
                 .segment_entries = static_cast<uint16_t>(1 + world_.Below(60))},
        window_length_(microseconds(world_.Below(3'000))),
        index_(options_) {}

  void Run(int documents) {
    for (int i = 0; i < documents && !::testing::Test::HasFailure(); ++i) {
      Known next = NextDocument();
      Compare(next);
      Append(std::move(next));
      if (world_.OneIn(30)) TakeBack();
      if (world_.OneIn(9)) Settle();
      if (world_.OneIn(70)) Restart();
    }
  }

 private:
  Known NextDocument() {
    Known next;
    next.seq = seq_ + 1 + static_cast<int64_t>(world_.OneIn(50) ? world_.Below(5) : 0);
    next.arrival = now_ + microseconds(world_.OneIn(3) ? 0 : world_.Below(100));
    const auto& known = oracle_.known();
    const bool is_variation = !known.empty() && !world_.OneIn(3);
    next.title =
        is_variation ? world_.Vary(known[world_.Below(known.size())].title) : world_.NextSet();
    next.lead = is_variation      ? world_.Vary(known[world_.Below(known.size())].lead)
                : world_.OneIn(3) ? TokenSet()
                                  : world_.NextSet();
    next.text = std::string(world_.Below(9), static_cast<char>('a' + world_.Below(26)));
    // Few hashes, and some that share the half that lists are keyed by.
    next.url_hash = world_.Below(40) << (world_.OneIn(2) ? 32 : 0);
    next.title_hash = world_.Below(60);
    return next;
  }

  void Append(Known next) {
    Index(next);
    seq_ = next.seq;
    now_ = next.arrival;
    oracle_.Append(std::move(next));
  }

  void Index(const Known& next) {
    index_.Append({next.seq,
                   next.arrival,
                   7,
                   next.url_hash,
                   next.title_hash,
                   next.title,
                   next.lead,
                   {},
                   next.text});
  }

  // An instance that begins anew reads what the window still holds, and only that.
  void Restart() {
    Settle();
    index_ = WindowIndex(options_);
    for (const Known& known : oracle_.known()) {
      if (known.arrival >= now_ - window_length_) Index(known);
    }
  }

  // A batch that was not committed.
  void TakeBack() {
    const int64_t last = seq_ - static_cast<int64_t>(world_.Below(12));
    if (last < settled_) return;
    index_.RemoveAfter(last);
    oracle_.RemoveAfter(last);
  }

  // A batch that was: what the window has left behind is forgotten.
  void Settle() {
    settled_ = seq_;
    index_.Expire(now_ - window_length_);
  }

  // Their tables are dear to make anew for each probe.
  static const Bounds& BoundsOf(double threshold) {
    static std::map<double, Bounds> made;
    return made.try_emplace(threshold, threshold).first->second;
  }

  std::map<int64_t, uint32_t> Numbered(const std::vector<EntryRef>& refs) const {
    std::map<int64_t, uint32_t> found;
    for (const EntryRef ref : refs) EXPECT_TRUE(found.emplace(index_.seq(ref), 0).second);
    return found;
  }

  // Shared tokens by seq; what the index holds of each must be what was put in.
  std::map<int64_t, uint32_t> Checked(const std::vector<Match>& matches,
                                      TokenSet Known::*field) const {
    std::map<int64_t, uint32_t> found;
    for (const Match& match : matches) {
      const Known* known = oracle_.Find(index_.seq(match.ref));
      EXPECT_NE(known, nullptr);
      if (known == nullptr) continue;
      EXPECT_EQ((known->*field).size(), match.length);
      EXPECT_TRUE(std::ranges::equal(index_.title(match.ref), known->title));
      EXPECT_TRUE(std::ranges::equal(index_.lead(match.ref), known->lead));
      EXPECT_EQ(index_.text(match.ref), known->text);
      EXPECT_TRUE(found.emplace(known->seq, match.overlap).second) << "found twice";
    }
    return found;
  }

  void Compare(const Known& next) {
    const Time earliest = next.arrival - window_length_;
    const std::optional<EntryRef> edge = index_.EdgeAt(earliest);
    const double threshold = std::max(options_.floor, world_.OneOf({0.2, 0.5, 0.8, 0.9, 1.0}));
    std::vector<Match> matches;
    std::vector<Match> lead_matches;
    std::vector<EntryRef> same_url;
    std::vector<EntryRef> same_title;
    const double lead_threshold = std::max(options_.lead_floor, world_.OneOf({0.3, 0.7, 1.0}));
    if (edge) {
      index_.FindSimilar(next.title, BoundsOf(threshold), *edge, scratch_, matches);
      if (index_.has_lead_index()) {
        index_.FindSimilarLead(next.lead, BoundsOf(lead_threshold), *edge, scratch_, lead_matches);
      }
      index_.FindByUrl(next.url_hash, *edge, same_url);
      index_.FindByTitle(next.title_hash, *edge, same_title);
    }
    EXPECT_EQ(Checked(matches, &Known::title),
              oracle_.FindSimilar<&Known::title>(next.title, threshold, earliest));
    if (index_.has_lead_index()) {
      EXPECT_EQ(Checked(lead_matches, &Known::lead),
                oracle_.FindSimilar<&Known::lead>(next.lead, lead_threshold, earliest));
    }
    const auto of_url = [&](const Known& known) {
      return known.url_hash != 0 && known.url_hash == next.url_hash;
    };
    const auto of_title = [&](const Known& known) {
      return known.title_hash != 0 && known.title_hash == next.title_hash;
    };
    EXPECT_EQ(Numbered(same_url), oracle_.Find(earliest, of_url));
    EXPECT_EQ(Numbered(same_title), oracle_.Find(earliest, of_title));
  }

  World world_;
  WindowOptions options_;
  microseconds window_length_;
  WindowIndex index_;
  ProbeScratch scratch_;
  Oracle oracle_;
  int64_t seq_ = 0;
  int64_t settled_ = 0;
  Time now_{};
};

TEST(WindowIndex, FindsWhatBruteForceFindsInEveryWorld) {
  const uint64_t worlds = WorldCount(120);
  for (uint64_t seed = 1; seed <= worlds && !HasFailure(); ++seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    WindowWorld(seed).Run(WorldSize(150));
  }
}

TEST(SetScores, AreOfOneMergeAndEqualSetsAreExactlyOne) {
  EXPECT_DOUBLE_EQ(Jaccard(2, 4, 3), 0.4);
  EXPECT_DOUBLE_EQ(Cosine(2, 4, 4), 0.5);
  EXPECT_DOUBLE_EQ(Containment(2, 4, 2), 1.0);
  for (uint32_t n = 1; n < 400; ++n) {
    EXPECT_EQ(Jaccard(n, n, n), 1.0);
    EXPECT_EQ(Cosine(n, n, n), 1.0);
  }
  EXPECT_EQ(Jaccard(0, 0, 0) + Cosine(0, 0, 5) + Containment(0, 0, 5), 0.0);
}

TokenSet Title(std::initializer_list<Token> tokens) { return TokenSet(tokens); }

TEST(WindowIndex, TheEdgeIsExactToTheMicrosecond) {
  WindowIndex index({.floor = 0.5});
  const TokenSet title = Title({1, 2, 3});
  index.Append({1, Time(microseconds(1'000)), 0, 0, 0, title, {}, {}});
  index.Append({2, Time(microseconds(1'001)), 0, 0, 0, title, {}, {}});
  index.Append({3, Time(microseconds(1'001)), 0, 0, 0, title, {}, {}});
  EXPECT_EQ(index.seq(*index.EdgeAt(Time(microseconds(1'000)))), 1);
  EXPECT_EQ(index.seq(*index.EdgeAt(Time(microseconds(1'001)))), 2);
  EXPECT_FALSE(index.EdgeAt(Time(microseconds(1'002))).has_value());
}

TEST(WindowIndex, ADuplicateKeepsItsRootWhenTheRootHasExpired) {
  WindowIndex index({.floor = 0.5, .segment_span = microseconds(10)});
  const TokenSet root = Title({1, 2, 3, 4});
  const TokenSet other = Title({1, 2, 3, 5});
  index.Append({1, Time(microseconds(0)), 8, 0, 0, root, {}, {}});
  const EntryRef first = *index.EdgeAt(Time(microseconds(0)));
  index.Append({2, Time(microseconds(50)), 9, 0, 0, other, {}, index.root(first)});
  index.Expire(Time(microseconds(50)));
  EXPECT_EQ(index.size(), 1U);
  const Root kept = index.root(*index.EdgeAt(Time(microseconds(50))));
  EXPECT_EQ(kept.seq, 1);
  EXPECT_EQ(kept.channel, 8U);
  EXPECT_EQ(TokenSet(kept.title.begin(), kept.title.end()), root);
  // Its own duplicate takes it over in turn.
  const EntryRef second = *index.EdgeAt(Time(microseconds(50)));
  index.Append({3, Time(microseconds(100)), 10, 0, 0, other, {}, index.root(second)});
  index.Expire(Time(microseconds(100)));
  EXPECT_EQ(index.root(*index.EdgeAt(Time(microseconds(100)))).seq, 1);
}

TEST(PostingMap, AListOfAnExpiredSegmentNeverComesBackUnderItsNumber) {
  PostingMap map;
  map.AddSegment(0);
  map.Append(5, 1, 1, 0);
  map.Append(6, 1, 1, 0);
  map.Append(6, 2, 1, 0);
  constexpr uint32_t kRound = 131'072;  // segments until eras have the same numbers again
  for (uint32_t number = 1; number <= kRound + 2; ++number) {
    map.AddSegment(static_cast<uint16_t>(number));
    if (number >= 3) map.DropOldestSegment();
  }
  const EntryRef edge{static_cast<uint16_t>(kRound), 0};
  const auto fail = [](EntryRef ref) { FAIL() << "of segment " << ref.segment; };
  map.ForEach(map.Find(5), edge, fail);
  map.ForEach(map.Find(6), edge, fail);
}

TEST(PostingMap, AnEraThatIsTheNewestAgainTakesWhatComes) {
  constexpr uint16_t kSegments = 8;  // of an era
  constexpr Token kTokens = 2'000;   // more than a page of blocks
  PostingMap map;
  const auto append = [&map](Token begin, uint16_t slot) {
    for (Token token = begin; token < begin + kTokens; ++token) map.Append(token, slot, 1, 0);
  };
  for (uint16_t number = 0; number < kSegments; ++number) map.AddSegment(number);
  append(1, 1);
  append(1, 2);
  map.AddSegment(kSegments);
  map.RemoveNewestSegment();
  append(1, 3);
  append(1 + kTokens, 1);
  append(1 + kTokens, 2);
  for (Token token = 1; token <= 2 * kTokens; ++token) {
    std::vector<EntryRef> found;
    map.ForEach(map.Find(token), {0, 0}, [&](EntryRef ref) { found.push_back(ref); });
    std::vector<EntryRef> expected = {{kSegments - 1, 1}, {kSegments - 1, 2}};
    if (token <= kTokens) expected.push_back({kSegments - 1, 3});
    ASSERT_EQ(found, expected) << token;
  }
}

TEST(WindowIndex, DropsTheOldestSegmentToKeepWithinMemory) {
  WindowIndex index({.floor = 0.5, .segment_entries = 2});
  for (int64_t seq = 1; seq <= 5; ++seq) {
    index.Append({seq, Time(microseconds(seq)), 0, 0, 0, Title({1, 2}), {}, {}});
  }
  EXPECT_TRUE(index.DropOldestSegment());
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.oldest_arrival(), Time(microseconds(3)));
  EXPECT_TRUE(index.DropOldestSegment());
  EXPECT_FALSE(index.DropOldestSegment()) << "the newest one stays";
}

}  // namespace
}  // namespace winnow::dedup::index
