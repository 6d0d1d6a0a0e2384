#include "services/newsfeed/search/search_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace winnow::newsfeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Parse(const std::string& query) {
  auto terms = ParseSearch(query);
  EXPECT_TRUE(terms.ok()) << query << ": " << terms.status();
  return terms.ok() ? *terms : std::vector<std::string>();
}

void ExpectRefused(const std::string& query, const std::string& why) {
  const auto terms = ParseSearch(query);
  ASSERT_FALSE(terms.ok()) << query;
  ASSERT_EQ(ViolationsOf(terms.status()).size(), 1u);
  EXPECT_EQ(ViolationsOf(terms.status())[0].field, "query");
  EXPECT_THAT(ViolationsOf(terms.status())[0].description, HasSubstr(why));
}

// Whether the index and then the texts say that it is found.
bool Finds(const std::string& query, const std::string& title, const std::string& snippet = "") {
  const auto terms = Parse(query);
  const auto have = GramsOf("ns", title, snippet);
  const auto want = GramsOf("ns", terms);
  const bool indexed = std::includes(have.begin(), have.end(), want.begin(), want.end());
  const bool stands = HasTerms(terms, title, snippet);
  EXPECT_TRUE(indexed || !stands) << "the index loses " << query << " in " << title;
  return indexed && stands;
}

TEST(Searches, AreOfWordsEachOnce) {
  EXPECT_THAT(Parse("  Solar\t태양광 SOLAR "), ElementsAre("solar", "태양광"));
  EXPECT_THAT(Parse("ＡＩ"), ElementsAre("ai"));
}

TEST(Searches, FindTwoKoreanCharactersInsideAWord) {
  EXPECT_TRUE(Finds("자력", "원자력 발전소"));
  EXPECT_TRUE(Finds("발전", "원자력 발전소"));
  EXPECT_FALSE(Finds("력발", "원자력 발전소")) << "a space is between them";
  EXPECT_FALSE(Finds("자발", "원자력 발전소"));
  EXPECT_TRUE(Finds("원자력 발전소", "발전소와 원자력")) << "in any order";
}

TEST(Searches, FindEnglishWordsWhole) {
  EXPECT_TRUE(Finds("ev", "An EV for all"));
  EXPECT_FALSE(Finds("ev", "Every event"));
  EXPECT_TRUE(Finds("gpt-4", "What GPT-4 does"));
  EXPECT_TRUE(Finds("ai반도체", "새 AI반도체 공장"));
  EXPECT_FALSE(Finds("ai반도체", "AI 반도체")) << "the words are there, but not together";
}

TEST(Searches, LookThroughTheBeginOfASnippet) {
  EXPECT_TRUE(Finds("배터리", "x", "전기차 배터리"));
  EXPECT_FALSE(Finds("차배", "전기차", "배터리")) << "title and snippet are two texts";
  std::string padding;
  for (int i = 0; i < 1'000; ++i) padding += "가";
  EXPECT_FALSE(Finds("배터리", "x", padding + "배터리"));
}

TEST(Searches, AreRefusedWhenNothingCanBeFoundByThem) {
  ExpectRefused("", "required");
  ExpectRefused("  ", "required");
  ExpectRefused("가", "too short");
  ExpectRefused("ok 나", "too short");
  ExpectRefused("!?", "too short");
  ExpectRefused(std::string(201, 'x'), "200 characters");
  ExpectRefused("a b c d e f g h i j k l m n o p q", "16 words");
}

TEST(Grams, AreOfTheirNamespace) {
  EXPECT_NE(GramsOf("a", "태양광 solar", ""), GramsOf("b", "태양광 solar", ""));
  EXPECT_EQ(GramsOf("a", "태양광 solar", ""), GramsOf("a", "SOLAR 태양광", ""));
}

}  // namespace
}  // namespace winnow::newsfeed
