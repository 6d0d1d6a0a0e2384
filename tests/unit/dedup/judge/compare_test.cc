#include "services/dedup/judge/compare.h"

#include <gtest/gtest.h>

#include "services/dedup/pair/character_overlap.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

class CompareTest : public ::testing::Test {
 protected:
  static const TextRules& Rules() {
    static const TextRules rules = LoadTextRules().value();
    return rules;
  }
  static Fingerprint Print(std::string_view title, std::string_view url = "",
                           std::string_view text = "") {
    return Rules().Of(title, text, url);
  }
  Comparison CompareTwo(const Fingerprint& earlier, const Fingerprint& later, bool is_one_channel) {
    return Compare({earlier, later, is_one_channel, Micros(0), semantic_}, policy_,
                   Rules().words());
  }
  Policy policy_;
  std::optional<double> semantic_;
};

TEST_F(CompareTest, ThePublishedExampleIsUniqueWithoutAModel) {
  const Comparison comparison = CompareTwo(Print("China must stop unfair trade"),
                                           Print("China should halt unfair trade"), false);
  EXPECT_EQ(comparison.verdict, Verdict::kUnique);
  EXPECT_TRUE(comparison.guards.empty());
  ASSERT_EQ(comparison.stages.size(), 6U);
  EXPECT_EQ(comparison.stages[2].stage, Stage::kToken);
  EXPECT_FALSE(comparison.stages[2].matched);
  EXPECT_EQ(comparison.stages[2].similarity, comparison.scores.jaccard);
  EXPECT_GT(comparison.scores.jaccard, 0.3);
  EXPECT_LT(comparison.scores.jaccard, 0.6);
  EXPECT_TRUE(comparison.explanation.starts_with("UNIQUE: no stage matches"))
      << comparison.explanation;
}

TEST_F(CompareTest, BoilerplateAndSpacingDoNotCount) {
  const Comparison comparison = CompareTwo(Print("[속보] 정부, 새 주거 대책 발표(종합)"),
                                           Print("정부 새 주거대책 발표"), false);
  EXPECT_EQ(comparison.verdict, Verdict::kDuplicate);
  EXPECT_TRUE(comparison.stages[1].matched);
  EXPECT_EQ(comparison.scores.jaccard, 1);
  EXPECT_EQ(comparison.scores.cosine, 1);
  EXPECT_EQ(comparison.scores.characters, 1);
  EXPECT_TRUE(comparison.explanation.starts_with("DUPLICATE: The normalised titles are equal"))
      << comparison.explanation;
}

// Characters a, b, c, d, and ab, bc, cd: against b, c, x and bc, cx they share b, c, bc.
TEST(CharacterSimilarity, CountsCharactersAndPairsOfNeighboursOnce) {
  EXPECT_DOUBLE_EQ(CharacterSimilarity("ab cd", "b cx"), 3.0 / 9);
  EXPECT_DOUBLE_EQ(CharacterSimilarity("b cx", "ab cd"), 3.0 / 9);
  EXPECT_DOUBLE_EQ(CharacterSimilarity("aaaa", "aa"), 1);
  EXPECT_DOUBLE_EQ(CharacterSimilarity("주거 대책", "주거대책"), 1);
  EXPECT_DOUBLE_EQ(CharacterSimilarity("", ""), 0);
  EXPECT_DOUBLE_EQ(CharacterSimilarity("가", ""), 0);
  EXPECT_LT(CharacterSimilarity("가나", "나가"), 1) << "order counts";
}

TEST_F(CompareTest, EveryStageIsToldAlsoAfterTheDecidingOne) {
  const Comparison comparison =
      CompareTwo(Print("첫 제목은 이렇게 생겼다", "https://example.com/a"),
                 Print("전혀 다른 말을 하는 글", "https://example.com/a"), true);
  EXPECT_EQ(comparison.verdict, Verdict::kDuplicate);
  EXPECT_TRUE(comparison.stages[0].matched);
  EXPECT_FALSE(comparison.stages[1].matched);
  EXPECT_FALSE(comparison.stages[2].matched);
}

TEST_F(CompareTest, AGuardSaysWhyEqualTitlesAreNotDuplicates) {
  const Comparison one_channel =
      CompareTwo(Print("정부 새 주거 대책 발표"), Print("정부 새 주거 대책 발표"), true);
  EXPECT_EQ(one_channel.verdict, Verdict::kUnique);
  EXPECT_EQ(one_channel.guards, std::vector{Guard::kSameChannel});
  EXPECT_NE(one_channel.explanation.find("one channel"), std::string::npos);
  const Comparison short_title = CompareTwo(Print("오늘의 운세"), Print("오늘의 운세"), false);
  EXPECT_EQ(short_title.guards, std::vector{Guard::kShortTitle});
  const std::string_view lead = "쥐띠는 동쪽에서 귀인을 만나고 소띠는 재물이 들어온다";
  EXPECT_EQ(
      CompareTwo(Print("오늘의 운세", "", lead), Print("오늘의 운세", "", lead), false).verdict,
      Verdict::kDuplicate);
}

TEST_F(CompareTest, ThePublishedExampleIsADuplicateWhereMeaningIsCompared) {
  semantic_ = 0.92;
  const Comparison comparison = CompareTwo(Print("China must stop unfair trade"),
                                           Print("China should halt unfair trade"), false);
  EXPECT_EQ(comparison.verdict, Verdict::kDuplicate);
  EXPECT_EQ(comparison.stages.back().stage, Stage::kSemantic);
  EXPECT_TRUE(comparison.stages.back().matched);
  EXPECT_EQ(comparison.modes[0].stage, Stage::kSemantic);
  EXPECT_EQ(comparison.scores.semantic, 0.92);
}

TEST_F(CompareTest, FewEditsBetweenCandidatesMakeADuplicate) {
  policy_.token_threshold = 0.95;
  const Comparison comparison = CompareTwo(Print("정부 새 주거 대책 다음 달 발표한다"),
                                           Print("정부 새 주거 대책 다음 달 발표했다"), false);
  EXPECT_EQ(comparison.verdict, Verdict::kDuplicate);
  EXPECT_EQ(comparison.modes[0].stage, Stage::kEdit);
  EXPECT_FALSE(comparison.stages[2].matched);
  EXPECT_TRUE(comparison.stages[4].matched);
  policy_.candidate_floor = 0.9;
  EXPECT_EQ(CompareTwo(Print("정부 새 주거 대책 다음 달 발표한다"),
                       Print("정부 새 주거 대책 다음 달 발표했다"), false)
                .verdict,
            Verdict::kUnique)
      << "they are no candidates any more";
}

TEST_F(CompareTest, LeadsDecideInTheCalibratedModeAlone) {
  const char* lead =
      "시는 다음 달부터 지하철 막차를 삼십 분 늦춘다고 오늘 밝혔다 시민 편의를 위해서다";
  const auto compare = [&] {
    return CompareTwo(Print("막차 시간이 바뀐다", "", lead),
                      Print("심야 귀가 쉬워져 지하철 운행 연장", "", lead), false);
  };
  EXPECT_EQ(compare().verdict, Verdict::kUnique);
  EXPECT_EQ(compare().modes[1].verdict, Verdict::kDuplicate);
  policy_.rule_mode = RuleMode::kCalibrated;
  const Comparison calibrated = compare();
  EXPECT_EQ(calibrated.verdict, Verdict::kDuplicate);
  EXPECT_EQ(calibrated.modes[1].stage, Stage::kLead);
  EXPECT_EQ(calibrated.scores.lead_jaccard, 1);
}

TEST_F(CompareTest, TitlesOfNothingButBoilerplateMatchNothing) {
  const Comparison comparison = CompareTwo(Print("[속보]"), Print("[속보]"), false);
  EXPECT_EQ(comparison.verdict, Verdict::kUnique);
  EXPECT_EQ(comparison.scores.jaccard, 0);
  EXPECT_FALSE(comparison.stages[1].matched);
}

TEST(Fingerprint, TheStoredFormGivesTheSameFingerprint) {
  const auto rules = LoadTextRules();
  ASSERT_TRUE(rules.ok());
  for (const char* title :
       {"[단독] 새 주거 대책을 정부가 발표", "오늘의 운세", "AI chips, again"}) {
    const char* text = "<p>본문은 길다. 홍길동 기자 hong@example.com</p>";
    const Fingerprint direct = rules->Of(title, text, "https://example.com/1");
    const Fingerprint stored = rules->OfNormalized(
        direct.normalized_title, rules->NormalizedLead(text), "https://example.com/1");
    EXPECT_EQ(stored.title, direct.title);
    EXPECT_EQ(stored.lead, direct.lead);
    EXPECT_EQ(stored.url_hash, direct.url_hash);
    EXPECT_EQ(stored.title_hash, direct.title_hash);
    EXPECT_EQ(stored.has_short_title, direct.has_short_title);
  }
}

TEST(Fingerprint, ALeadIsTheBeginningOfTheText) {
  const auto rules = LoadTextRules();
  ASSERT_TRUE(rules.ok());
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += "가나다라 ";
  EXPECT_LE(CountCharacters(rules->NormalizedLead(text)), kLeadCharacters);
  EXPECT_EQ(rules->NormalizedLead("짧은 글."), "짧은 글");
}

}  // namespace
}  // namespace winnow::dedup
