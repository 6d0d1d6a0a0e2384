#include "services/newsfeed/keywords/keywords.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "services/newsfeed/feed/feed_query.h"

namespace winnow::newsfeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KeywordExpression Parse(const std::string& text) {
  auto parsed = ParseKeywordExpression(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.status();
  return parsed.ok() ? *parsed : KeywordExpression();
}

void ExpectRefused(const std::string& text, const std::string& why) {
  const auto parsed = ParseKeywordExpression(text);
  ASSERT_FALSE(parsed.ok()) << text;
  const auto violations = ViolationsOf(parsed.status());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "");
  EXPECT_THAT(violations[0].description, HasSubstr(why)) << text;
}

TEST(Keywords, CompareWholeWithoutRegardToCaseWidthOrSpace) {
  EXPECT_EQ(KeywordTerm("  Machine\t Learning "), "machine learning");
  EXPECT_EQ(KeywordTerm("ＡＩ"), "ai");
  EXPECT_EQ(KeywordTerm("\xE1\x84\x80\xE1\x85\xA1"), "가") << "letters of one syllable";
  EXPECT_EQ(KeywordTerm("\xE2\x80\x8B"), "") << "nothing that can be seen";
  EXPECT_LE(KeywordTerm(std::string(6'000, 'x')).size(), 1'000u);
  EXPECT_THAT(ToTerms({"b", "A", " "}, {"a", "c"}), ElementsAre("a", "b", "c"));
}

TEST(KeywordExpressions, BindAndCloserThanOr) {
  const KeywordExpression either = Parse("a OR b AND c");
  EXPECT_TRUE(Holds(either, {"a"}));
  EXPECT_FALSE(Holds(either, {"b"}));
  EXPECT_TRUE(Holds(either, {"b", "c"}));
  const KeywordExpression both = Parse("(a OR b) AND c");
  EXPECT_FALSE(Holds(both, {"a"}));
  EXPECT_TRUE(Holds(both, {"a", "c"}));
}

TEST(KeywordExpressions, NegateWholeParts) {
  const KeywordExpression expression = Parse("a AND NOT (b OR c AND NOT d)");
  EXPECT_TRUE(Holds(expression, {"a"}));
  EXPECT_FALSE(Holds(expression, {"a", "b"}));
  EXPECT_FALSE(Holds(expression, {"a", "c"}));
  EXPECT_TRUE(Holds(expression, {"a", "c", "d"}));
  EXPECT_TRUE(Holds(Parse("NOT NOT a"), {"a"}));
  EXPECT_TRUE(Holds(Parse("NOT a"), {}));
}

TEST(KeywordExpressions, TakeAnythingInQuotes) {
  EXPECT_TRUE(Holds(Parse("\"AND\""), {"and"}));
  EXPECT_TRUE(Holds(Parse("\"Machine  Learning\""), {"machine learning"}));
  EXPECT_TRUE(Holds(Parse("\"say \\\"no\\\" \\\\\""), {"say \"no\" \\"}));
  EXPECT_TRUE(Holds(Parse("기후변화 OR \"(주)한국\""), {"(주)한국"}));
  EXPECT_TRUE(Holds(Parse("and"), {"and"})) << "operators are upper case";
}

TEST(KeywordExpressions, AreEqualWhenTheyMeanTheSame) {
  EXPECT_EQ(Parse("a AND (b OR c)"), Parse("C AND A OR B AND A"));
  EXPECT_EQ(ToQueryText(Parse("a OR a")), "('a')");
  EXPECT_EQ(ToQueryText(Parse("NOT b AND \"it's \\\\\"")), "('it''s \\\\' & !'b')");
  EXPECT_EQ(Parse("a AND NOT a OR b"), Parse("b")) << "what contradicts itself is dropped";
}

TEST(KeywordExpressions, SayWhatIsWrongWithThem) {
  ExpectRefused("", "lacks a keyword");
  ExpectRefused("a AND", "lacks a keyword");
  ExpectRefused("OR b", "lacks a keyword");
  ExpectRefused("a b", "continues where AND, OR or the end of the expression is expected");
  ExpectRefused("a)", "continues where");
  ExpectRefused("(a", "parenthesis");
  ExpectRefused("\"a", "quote");
  ExpectRefused("a AND \"b", "quote");
  ExpectRefused("\"\"", "visible");
  ExpectRefused("a AND NOT a", "contradicts itself");
  ExpectRefused(std::string("a\0b", 3), "NUL");
  ExpectRefused(std::string(40, '(') + "a" + std::string(40, ')'), "nested");
  ExpectRefused(std::string(1'001, 'a'), "1001 characters");
  ExpectRefused("(a OR b) AND (c OR d) AND (e OR f) AND (g OR h) AND (i OR j)", "32 alternatives");
  std::string many = "a0";
  for (int i = 1; i < 17; ++i) many += " AND a" + std::to_string(i);
  ExpectRefused(many, "more than 16 keywords");
}

// An expression made at random, and what it means by the book.
class Oracle {
 public:
  explicit Oracle(std::mt19937& random, int depth = 0) {
    const unsigned roll = random() % 10;
    if (depth > 3 || roll < 4) {
      word_ = std::string(1, static_cast<char>('a' + random() % 4));
    } else {
      op_ = roll < 6 ? 'n' : roll < 8 ? '&' : '|';
      parts_.emplace_back(random, depth + 1);
      if (op_ != 'n') parts_.emplace_back(random, depth + 1);
    }
  }
  std::string Text() const {
    if (!word_.empty()) return word_;
    if (op_ == 'n') return "NOT (" + parts_[0].Text() + ")";
    return "(" + parts_[0].Text() + (op_ == '&' ? ") AND (" : ") OR (") + parts_[1].Text() + ")";
  }
  bool Means(const std::vector<std::string>& terms) const {
    if (!word_.empty()) return std::find(terms.begin(), terms.end(), word_) != terms.end();
    if (op_ == 'n') return !parts_[0].Means(terms);
    return op_ == '&' ? parts_[0].Means(terms) && parts_[1].Means(terms)
                      : parts_[0].Means(terms) || parts_[1].Means(terms);
  }

 private:
  std::string word_;
  char op_ = ' ';
  std::vector<Oracle> parts_;
};

TEST(KeywordExpressions, MeanWhatTheyMeanByTheBook) {
  std::mt19937 random(11);
  int parsed_count = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Oracle oracle(random);
    const auto parsed = ParseKeywordExpression(oracle.Text());
    bool ever = false;
    for (unsigned bits = 0; bits < 16; ++bits) {
      std::vector<std::string> terms;
      for (unsigned k = 0; k < 4; ++k) {
        if ((bits >> k & 1) != 0) terms.push_back(std::string(1, static_cast<char>('a' + k)));
      }
      ever |= oracle.Means(terms);
      if (parsed.ok()) {
        ASSERT_EQ(Holds(*parsed, terms), oracle.Means(terms)) << oracle.Text();
      }
    }
    parsed_count += parsed.ok();
    if (!ever) {
      ASSERT_FALSE(parsed.ok()) << oracle.Text();
    }
  }
  EXPECT_GT(parsed_count, 1'500);
}

TEST(Signatures, KeepTheBitsOfEveryTerm) {
  const uint64_t all = SignatureOf({"a", "b", "c"});
  for (const char* term : {"a", "b", "c"}) {
    const uint64_t one = SignatureOf({term});
    EXPECT_EQ(all & one, one);
    EXPECT_NE(one, 0u);
  }
  EXPECT_EQ(SignatureOf({}), 0u);
}

TEST(FeedHashes, KnowTheKeywords) {
  FeedFilter a;
  FeedFilter b;
  EXPECT_EQ(HashFeed("ns", "c", a), HashFeed("ns", "c", b));
  a.keywords = Parse("x OR y");
  EXPECT_NE(HashFeed("ns", "c", a), HashFeed("ns", "c", b));
  b.keywords = Parse("y OR x");
  EXPECT_EQ(HashFeed("ns", "c", a), HashFeed("ns", "c", b));
}

}  // namespace
}  // namespace winnow::newsfeed
