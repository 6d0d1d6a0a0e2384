#include "services/dedup/text/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/dedup/text/embedded_text_rules.h"
#include "services/dedup/text/token_order.h"

namespace winnow::dedup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> TokensOf(std::string_view normalized) {
  std::vector<std::string> tokens;
  ForEachToken(normalized, [&](std::string_view token) { tokens.emplace_back(token); });
  return tokens;
}

TEST(Tokens, KoreanTextsGiveGramsOfThreeCharactersWithoutSpaces) {
  EXPECT_THAT(TokensOf("물가 안정"), ElementsAre("물가안", "가안정"));
  EXPECT_EQ(TokensOf("물가 안정"), TokensOf("물가안정"));
}

TEST(Tokens, LatinWordsAreTokensBesideTheirGrams) {
  EXPECT_THAT(TokensOf("ai 칩 g20"), ElementsAre("ai칩", "i칩g", "칩g2", "g20", "=ai", "=g20"));
  EXPECT_THAT(TokensOf("삼성ai폰"), ElementsAre("삼성a", "성ai", "ai폰", "=ai"));
}

TEST(Tokens, NumbersAloneAreNoWords) {
  EXPECT_THAT(TokensOf("2026 예산"), ElementsAre("202", "026", "26예", "6예산"));
}

TEST(Tokens, ATextShorterThanAGramIsOneToken) {
  EXPECT_THAT(TokensOf("물가"), ElementsAre("물가"));
  EXPECT_THAT(TokensOf("물 가"), ElementsAre("물가"));
  EXPECT_THAT(TokensOf(""), IsEmpty());
}

TEST(TokenOrder, UnknownTokensAreRarestAndListedOnesFollowFrequency) {
  const auto order = TokenOrder::Parse("# note\nversion 7\n나다라\n가나다\n=ai\n");
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_EQ(order->version(), 7);
  EXPECT_EQ(order->Rank("나다라"), 4'294'967'295U);
  EXPECT_EQ(order->Rank("가나다"), 4'294'967'294U);
  EXPECT_EQ(order->Rank("=ai"), 4'294'967'293U);
  EXPECT_LT(order->Rank("처음본"), order->Rank("=ai"));
  EXPECT_EQ(order->Rank("처음본"), order->Rank("처음본"));
}

TEST(TokenOrder, GivesEachTextAnAscendingSet) {
  const auto order = TokenOrder::Parse("version 1\n가나다\n");
  ASSERT_TRUE(order.ok());
  const auto tokens = order->TokensOf("가나다 가나다 라마바");
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
  EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end());
  EXPECT_EQ(tokens.back(), 4'294'967'295U);
}

TEST(TokenOrder, NamesWhatIsWrongWithAList) {
  EXPECT_FALSE(TokenOrder::Parse("").ok());
  EXPECT_FALSE(TokenOrder::Parse("가나다\n").ok());
  EXPECT_FALSE(TokenOrder::Parse("version x\n").ok());
  EXPECT_FALSE(TokenOrder::Parse("version 0\n").ok());
  EXPECT_FALSE(TokenOrder::Parse("version 1\n가나다\n가나다\n").ok());
}

// A rank is part of the frozen order: these change only with a new version of the list.
TEST(TokenOrder, TheShippedListKeepsItsRanks) {
  const auto rules = LoadTextRules();
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->order().version(), 1);
  EXPECT_GT(rules->order().Rank("대통령"), 4'294'967'200U);
  EXPECT_EQ(rules->order().Rank("쀍쀍쀍"), 1'246'134'069U);
}

}  // namespace
}  // namespace winnow::dedup
