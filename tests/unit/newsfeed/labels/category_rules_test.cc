#include "services/newsfeed/labels/category_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "services/newsfeed/labels/embedded_category_rules.h"
#include "services/newsfeed/labels/word_matcher.h"

namespace winnow::newsfeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> FindIn(const std::vector<std::string>& words, const std::string& text) {
  const WordMatcher matcher(words);
  std::vector<std::string> found;
  const std::string folded = WordMatcher::Fold(text);
  for (const WordMatcher::Match& match : matcher.Find(folded)) {
    EXPECT_EQ(folded.substr(match.begin, match.end - match.begin), words[match.word]);
    found.push_back(words[match.word]);
  }
  return found;
}

// Substrings tagged 649 of 1,855 English items "energy" by "ev"; whole words 32.
TEST(WordMatcher, TakesAsciiWordsWhole) {
  EXPECT_THAT(FindIn({"ev"}, "Every event is never an EV"), ElementsAre("ev"));
  EXPECT_THAT(FindIn({"ev"}, "EV시장, ev-charging, (EV)."), ElementsAre("ev", "ev", "ev"));
  EXPECT_THAT(FindIn({"ai"}, "ONLY AVAILABLE IN PAID PLANS; Said in Dubai"), IsEmpty());
  EXPECT_THAT(FindIn({"gpt"}, "GPT4 gpt-4"), ElementsAre("gpt"));
  EXPECT_THAT(FindIn({"machine learning"}, "Machine\nlearning"), ElementsAre("machine learning"));
}

TEST(WordMatcher, TakesTheLongestOfHangul) {
  const std::vector<std::string> words = {"탄소", "탄소중립", "환경", "환경부"};
  EXPECT_THAT(FindIn(words, "탄소중립을 위해 환경부가 탄소를"),
              ElementsAre("탄소중립", "환경부", "탄소"));
}

TEST(WordMatcher, FindsWhatLookingForEachWordFinds) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto make = [&](size_t most) {
      std::string made;
      const size_t size = 1 + random() % most;
      for (size_t i = 0; i < size; ++i) made += random() % 2 == 0 ? "가" : "나";
      return made;
    };
    std::vector<std::string> words;
    for (int i = 0; i < 5; ++i) {
      std::string word = make(4);
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
    const std::string in = make(30);
    std::vector<std::pair<size_t, size_t>> all;
    for (const std::string& word : words) {
      for (size_t at = in.find(word); at != std::string::npos; at = in.find(word, at + 1)) {
        all.emplace_back(at, at + word.size());
      }
    }
    std::vector<std::pair<size_t, size_t>> longest;
    for (const auto& one : all) {
      const bool inside = std::any_of(all.begin(), all.end(), [&](const auto& other) {
        return other != one && other.first <= one.first && one.second <= other.second;
      });
      if (!inside) longest.push_back(one);
    }
    std::sort(longest.begin(), longest.end());
    std::vector<std::pair<size_t, size_t>> found;
    for (const auto& match : WordMatcher(words).Find(in))
      found.emplace_back(match.begin, match.end);
    ASSERT_EQ(found, longest) << in;
  }
}

std::vector<std::string> IdsOf(const std::vector<CategoryLabel>& labels) {
  std::vector<std::string> ids;
  for (const CategoryLabel& label : labels) ids.push_back(label.id);
  return ids;
}

std::vector<CategoryLabel> Of(const std::string& title, const std::string& snippet = "",
                              std::vector<std::string> keywords = {},
                              std::vector<std::string> vendor_categories = {}) {
  return DefaultCategoryRules().Categorize({title, snippet, &keywords, &vendor_categories});
}

TEST(DefaultRules, KnowThePublishedKeywords) {
  for (const char* word :
       {"환경", "분리배출", "재활용", "쓰레기", "폐기물", "기후변화", "온실가스", "탄소", "생태계",
        "environment", "recycling", "waste", "climate", "pollution"}) {
    EXPECT_THAT(IdsOf(Of(word)), ElementsAre("environment")) << word;
  }
  for (const char* word : {"에너지", "신재생", "태양광", "풍력", "전기차", "배터리", "수소",
                           "탄소중립", "energy", "solar", "renewable", "EV", "battery"}) {
    EXPECT_THAT(IdsOf(Of(word)), ElementsAre("energy")) << word;
  }
  for (const char* word : {"인공지능", "AI", "머신러닝", "딥러닝", "챗봇", "GPT", "LLM", "자동화",
                           "artificial intelligence", "machine learning", "automation"}) {
    EXPECT_THAT(IdsOf(Of(word)), ElementsAre("ai")) << word;
  }
}

TEST(DefaultRules, GiveSeveralLabelsBestFirst) {
  EXPECT_THAT(IdsOf(Of("AI로 전기차 배터리 재활용")), ElementsAre("energy", "environment", "ai"));
}

TEST(DefaultRules, ExplainEachLabel) {
  const auto labels = Of("서울시, 태양광 늘린다", "배터리도 함께");
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels[0].rule, "words: 태양광, 배터리");
  EXPECT_EQ(labels[0].span, "title 5 8");
  EXPECT_DOUBLE_EQ(labels[0].score, 1.5 / 2.5) << "the snippet counts half";
  EXPECT_EQ(Of("", "", {"Solar"}).at(0).span, "keyword 0 5");
}

TEST(DefaultRules, AreSilentAboutTheRest) {
  EXPECT_THAT(Of("Title of a", "Every event said"), IsEmpty());
  EXPECT_THAT(Of("보안 환경설정 화면을 바꾼다"), IsEmpty())
      << "a longer word that means another thing";
  EXPECT_THAT(Of("범인을 수소문했다"), IsEmpty());
  EXPECT_THAT(Of("x", "", {"ONLY AVAILABLE IN PAID PLANS"}, {"only available in ai plans"}),
              IsEmpty());
  EXPECT_THAT(Of("x", "", {}, {"technology", "top"}), IsEmpty())
      << "what a vendor files everything under says nothing by itself";
  EXPECT_THAT(IdsOf(Of("x", "", {}, {"Environment"})), ElementsAre("environment"));
}

TEST(DefaultRules, FindFullWidthAndDecomposedForms) {
  const auto wide = Of("ＡＩ 시대");
  EXPECT_THAT(IdsOf(wide), ElementsAre("ai"));
  EXPECT_EQ(wide.at(0).span, "title 0 0") << "it does not stand there as it is";
}

StatusOr<CategoryRules> Parse(const std::string& categories) {
  return CategoryRules::Parse(R"({"version": 1, "categories": [)" + categories + "]}");
}

TEST(Rules, WeighWordsForAndAgainst) {
  const auto rules = Parse(R"({"id": "a", "display_name": "A", "threshold": 2, "priority": 2,
    "words": {"one": 1, "two": 2, "not": -1.5}},
    {"id": "b", "display_name": "B", "threshold": 1, "priority": 1, "words": {"two": 2}})");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto ids = [&](const std::string& title) { return IdsOf(rules->Categorize({title, {}})); };
  EXPECT_THAT(ids("one"), IsEmpty());
  EXPECT_THAT(ids("one one one"), IsEmpty()) << "a word counts once";
  EXPECT_THAT(ids("two"), ElementsAre("b", "a")) << "of equal scores by priority";
  EXPECT_THAT(ids("one two not"), ElementsAre("b")) << "1.5 of 2 points";
}

TEST(RulesFiles, AreRefusedByName) {
  const auto missing = LoadCategoryRules("/nowhere/rules.json");
  ASSERT_EQ(ViolationsOf(missing.status()).size(), 1u);
  EXPECT_THAT(ViolationsOf(missing.status())[0].description, HasSubstr("/nowhere/rules.json"));
  EXPECT_EQ(LoadCategoryRules("")->categories().size(), 3u);
}

TEST(Rules, SayAllThatIsWrongWithThem) {
  const auto refused = Parse(R"({"id": "All", "threshold": 0, "colour": "red",
    "words": {" x": 1, "y": 1e9, "": 1}}, {"id": "ok", "display_name": "x"},
    {"id": "ok", "display_name": "x"})");
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(refused.status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, UnorderedElementsAre("categories[0].colour", "categories[0].words",
                                           "categories[0].words", "categories[0].words",
                                           "categories[0].id", "categories[0].display_name",
                                           "categories[0].threshold", "categories[2].id"));
  EXPECT_FALSE(CategoryRules::Parse("{}").ok());
  const auto broken = CategoryRules::Parse(R"({"version": 1, "categories": [{"id": )");
  EXPECT_THAT(ViolationsOf(broken.status()).back().description,
              HasSubstr("not valid JSON at byte"));
  EXPECT_FALSE(CategoryRules::Parse(R"({"version": 2, "categories": []})").ok());
}

}  // namespace
}  // namespace winnow::newsfeed
