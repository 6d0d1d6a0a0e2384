#include "services/dedup/judge/judge.h"

#include <gtest/gtest.h>

#include "services/platform/base/hash.h"
#include "tests/support/dedup/dedup_world.h"

namespace winnow::dedup {
namespace {

using std::chrono::microseconds;

struct Seen {
  int64_t seq = 0;
  int64_t root = 0;  // seq of the original; its own when unique
  uint32_t channel = 0;
  Time arrival;
  Fingerprint print;
};

uint64_t HashOf(const TokenSet& tokens) {
  if (tokens.empty()) return 0;
  return Hash64({reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(tokens[0])});
}

double JaccardOf(const TokenSet& a, const TokenSet& b) {
  const size_t shared = CountShared(a, b);
  const size_t united = a.size() + b.size() - shared;
  return united == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(united);
}

// The rules as they are written down, by brute force.
class Rules {
 public:
  Rules(const Policy& policy, const std::vector<Seen>& seen) : policy_(policy), seen_(seen) {}

  struct Answer {
    Stage stage = Stage::kNone;
    double similarity = 0;
    int64_t original = 0;
  };

  Answer Decide(const Seen& next) const {
    std::vector<const Seen*> known;
    for (const Seen& seen : seen_) {
      if (next.arrival - seen.arrival <= policy_.window) known.push_back(&seen);
    }
    for (const Seen* seen : known) {
      if (next.print.url_hash != 0 && seen->print.url_hash == next.print.url_hash) {
        return {Stage::kUrl, 1, seen->root};
      }
    }
    for (const Seen* seen : known) {
      const bool is_equal =
          next.print.title_hash != 0 && seen->print.title_hash == next.print.title_hash;
      if (is_equal && MayTake(next, *seen)) return {Stage::kExact, 1, seen->root};
    }
    return DecideByTokens(next, known);
  }

 private:
  Answer DecideByTokens(const Seen& next, const std::vector<const Seen*>& known) const {
    const Seen* best = nullptr;
    double best_similarity = 0;
    for (const Seen* seen : known) {
      const double similarity = JaccardOf(next.print.title, seen->print.title);
      if (similarity < policy_.token_threshold || similarity <= best_similarity) continue;
      if (!MayTake(next, *seen)) continue;
      best = seen;
      best_similarity = similarity;
    }
    if (best == nullptr) return {};
    return {Stage::kToken, best_similarity, best->root};
  }

  bool MayTake(const Seen& next, const Seen& seen) const {
    if (!policy_.same_channel && seen.channel == next.channel) return false;
    const double leads = JaccardOf(next.print.lead, seen.print.lead);
    if (next.print.has_short_title && leads < kLeadAgreement) return false;
    if (seen.root == seen.seq) return true;
    return JaccardOf(next.print.title, seen_[static_cast<size_t>(seen.root - 1)].print.title) >=
           policy_.chain_floor;
  }

  const Policy& policy_;
  const std::vector<Seen>& seen_;
};

class JudgeWorld {
 public:
  explicit JudgeWorld(uint64_t seed)
      : world_(seed),
        policy_{.version = 1,
                .window = microseconds(1 + world_.Below(2'000)),
                .token_threshold = world_.OneOf({0.5, 0.6, 0.8, 0.8, 1.0}),
                .candidate_floor = world_.OneOf({0.3, 0.5}),
                .chain_floor = world_.OneOf({0.0, 0.5, 0.5, 0.9}),
                .same_channel = world_.OneIn(3),
                .edit_threshold = 2},  // texts have no part in these worlds
        window_({.floor = policy_.candidate_floor,
                 .segment_span = microseconds(1 + world_.Below(300))}) {}

  void Run(int64_t documents) {
    for (int64_t seq = 1; seq <= documents && !::testing::Test::HasFailure(); ++seq) {
      Seen next = NextDocument(seq);
      const Judgement judged =
          Judge(next.print, next.channel, next.arrival, window_, {policy_, words_}, scratch_);
      const Rules::Answer expected = Rules(policy_, seen_).Decide(next);
      ASSERT_EQ(judged.stage, expected.stage) << "document " << seq;
      ASSERT_EQ(judged.similarity, expected.similarity) << "document " << seq;
      ASSERT_EQ(judged.is_duplicate(), expected.stage != Stage::kNone);
      ASSERT_LE(judged.candidates.size(), kMaxCandidates);
      std::optional<index::Root> root;
      if (judged.is_duplicate()) {
        root = window_.root(judged.candidates.front().ref);
        ASSERT_EQ(root->seq, expected.original) << "document " << seq;
        ASSERT_EQ(judged.candidates.front().root_seq, expected.original);
        ASSERT_TRUE(judged.candidates.front().guards.empty());
        next.root = root->seq;
      }
      window_.Append({seq, next.arrival, next.channel, next.print.url_hash, next.print.title_hash,
                      next.print.title, next.print.lead, root});
      seen_.push_back(std::move(next));
      if (world_.OneIn(10)) window_.Expire(seen_.back().arrival - policy_.window);
    }
  }

 private:
  Seen NextDocument(int64_t seq) {
    Seen next;
    next.seq = next.root = seq;
    next.channel = static_cast<uint32_t>(world_.Below(4));
    next.arrival = seen_.empty() ? Time() : seen_.back().arrival;
    if (!world_.OneIn(3)) next.arrival += microseconds(world_.Below(100));
    Fingerprint& print = next.print;
    if (!seen_.empty() && !world_.OneIn(3)) {
      const Fingerprint& earlier = seen_[world_.Below(seen_.size())].print;
      print.title = world_.OneIn(3) ? earlier.title : world_.Vary(earlier.title);
      print.lead = world_.OneIn(2) ? earlier.lead : world_.Vary(earlier.lead);
    } else {
      print.title = world_.NextSet();
      if (!world_.OneIn(4)) print.lead = world_.NextSet();
    }
    print.title_hash = HashOf(print.title);
    print.url_hash = world_.OneIn(3) ? 1 + world_.Below(30) : 0;
    print.has_short_title = print.title.size() < 6;
    return next;
  }

  World world_;
  Policy policy_;
  index::WindowIndex window_;
  TitleWords words_;
  index::ProbeScratch scratch_;
  std::vector<Seen> seen_;
};

TEST(Judge, DecidesAsTheRulesDoByBruteForceInEveryWorld) {
  const uint64_t worlds = WorldCount(120);
  for (uint64_t seed = 1; seed <= worlds && !HasFailure(); ++seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    JudgeWorld(seed).Run(120);
  }
}

// A window with a few documents, by hand.
class JudgeRulesTest : public ::testing::Test {
 protected:
  static Fingerprint Print(TokenSet title, uint64_t url = 0, TokenSet lead = {}) {
    Fingerprint print;
    print.title_hash = HashOf(title);
    print.has_short_title = title.size() < 6;
    print.title = std::move(title);
    print.lead = std::move(lead);
    print.url_hash = url;
    return print;
  }
  static TokenSet Range(index::Token first, index::Token count) {
    TokenSet tokens(count);
    for (index::Token i = 0; i < count; ++i) tokens[i] = first + i;
    return tokens;
  }
  Judgement Submit(const Fingerprint& print, uint32_t channel) {
    ++seq_;
    Judgement judged = Judge(print, channel, now_, window_, {policy_, words_}, scratch_);
    std::optional<index::Root> root;
    if (judged.is_duplicate()) root = window_.root(judged.candidates.front().ref);
    window_.Append({seq_, now_, channel, print.url_hash, print.title_hash, print.title, print.lead,
                    root, print.normalized_title});
    return judged;
  }

  Policy policy_{.edit_threshold = 2};  // texts have no part here
  index::WindowIndex window_{{.floor = 0.5}};
  TitleWords words_;
  index::ProbeScratch scratch_;
  int64_t seq_ = 0;
  Time now_{std::chrono::hours(1'000)};
};

TEST_F(JudgeRulesTest, ADocumentExactlyAsOldAsTheWindowStillCounts) {
  Submit(Print(Range(1, 10)), 1);
  now_ += policy_.window;
  EXPECT_TRUE(
      Judge(Print(Range(1, 10)), 2, now_, window_, {policy_, words_}, scratch_).is_duplicate());
  now_ += microseconds(1);
  EXPECT_FALSE(
      Judge(Print(Range(1, 10)), 2, now_, window_, {policy_, words_}, scratch_).is_duplicate());
}

TEST_F(JudgeRulesTest, AnEqualUrlIsADuplicateWithinOneChannelToo) {
  Submit(Print(Range(1, 10), 99), 1);
  const Judgement judged = Submit(Print(Range(500, 10), 99), 1);
  EXPECT_EQ(judged.stage, Stage::kUrl);
  EXPECT_EQ(judged.similarity, 1);
}

TEST_F(JudgeRulesTest, OneChannelRepeatsItselfUnlessToldOtherwise) {
  Submit(Print(Range(1, 10)), 1);
  const Judgement held = Submit(Print(Range(1, 10)), 1);
  EXPECT_FALSE(held.is_duplicate());
  ASSERT_EQ(held.candidates.size(), 1U);
  EXPECT_EQ(held.candidates[0].guards, std::vector{Guard::kSameChannel});
  EXPECT_EQ(held.candidates[0].stage, Stage::kExact);
  policy_.same_channel = true;
  EXPECT_TRUE(Submit(Print(Range(1, 10)), 1).is_duplicate());
}

TEST_F(JudgeRulesTest, WhatTheChannelRuleExcludesIsNotReadButForWhatIsTold) {
  const auto titled = [](Fingerprint print, int number) {
    print.normalized_title = "title " + std::to_string(number);
    return print;
  };
  for (int i = 0; i < 200; ++i) {
    const Judgement equal = Submit(titled(Print(Range(1, 10)), 0), 1);
    EXPECT_FALSE(equal.is_duplicate());
    ASSERT_LE(equal.titles_read, 1U) << "equal titles are read once";
    // A number in it makes another title of each, as near to the others as a duplicate.
    TokenSet varied = Range(100, 40);
    varied.push_back(static_cast<index::Token>(1'000 + i));
    const Judgement near = Submit(titled(Print(varied), i), 1);
    EXPECT_FALSE(near.is_duplicate());
    ASSERT_LE(near.titles_read, kMaxCandidates);
    ASSERT_LE(near.candidates.size(), kMaxCandidates);
  }
  // Behind all of them, what is admissible is found.
  Submit(titled(Print(Range(100, 41)), 500), 2);
  const Judgement found = Submit(titled(Print(Range(100, 40)), 501), 1);
  EXPECT_TRUE(found.is_duplicate());
  EXPECT_EQ(found.candidates.front().root_seq, 2);
}

TEST_F(JudgeRulesTest, AShortTitleNeedsAgreeingLeads) {
  Submit(Print(Range(1, 3), 0, Range(100, 40)), 1);
  const Judgement held = Submit(Print(Range(1, 3), 0, Range(300, 40)), 2);
  EXPECT_FALSE(held.is_duplicate());
  EXPECT_EQ(held.candidates.at(0).guards, std::vector{Guard::kShortTitle});
  EXPECT_FALSE(Submit(Print(Range(1, 3)), 3).is_duplicate()) << "no lead, no agreement";
  EXPECT_TRUE(Submit(Print(Range(1, 3), 0, Range(110, 40)), 4).is_duplicate());
}

// A drifts to B, B to C: C is similar to B, not to A.
TEST_F(JudgeRulesTest, AChainEndsWhereTheOriginalIsNoLongerSimilar) {
  policy_.token_threshold = 0.6;
  Submit(Print(Range(0, 20)), 1);
  EXPECT_TRUE(Submit(Print(Range(4, 20)), 2).is_duplicate());
  const Judgement held = Submit(Print(Range(8, 20)), 3);
  EXPECT_FALSE(held.is_duplicate());
  EXPECT_EQ(held.candidates.at(0).guards, std::vector{Guard::kChain});
  EXPECT_EQ(held.candidates.at(0).root_seq, 1);
}

TEST_F(JudgeRulesTest, AmongEqualsTheEarliestIsTheOriginal) {
  Submit(Print(Range(1, 10)), 1);
  Submit(Print(Range(1, 10)), 1);  // the same channel again: an original of its own
  const Judgement judged = Submit(Print(Range(1, 10)), 2);
  EXPECT_EQ(judged.candidates.at(0).root_seq, 1);
}

TEST_F(JudgeRulesTest, NearMissesAreToldAsCandidates) {
  Submit(Print(Range(0, 20)), 1);
  const Judgement judged = Submit(Print(Range(5, 20)), 2);
  EXPECT_FALSE(judged.is_duplicate());
  ASSERT_EQ(judged.candidates.size(), 1U);
  EXPECT_EQ(judged.candidates[0].stage, Stage::kNone);
  EXPECT_DOUBLE_EQ(judged.candidates[0].scores.jaccard, 0.6);
  EXPECT_DOUBLE_EQ(judged.candidates[0].scores.cosine, 0.75);
  EXPECT_DOUBLE_EQ(judged.candidates[0].scores.overlap, 0.75);
}

TEST_F(JudgeRulesTest, ATitleOfNothingMatchesNothing) {
  Submit(Print({}), 1);
  const Judgement judged = Submit(Print({}), 2);
  EXPECT_FALSE(judged.is_duplicate());
  EXPECT_TRUE(judged.candidates.empty());
}

}  // namespace
}  // namespace winnow::dedup
