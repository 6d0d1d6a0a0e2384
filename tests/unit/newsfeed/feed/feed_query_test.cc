#include "services/newsfeed/feed/feed_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/timestamp.h"

namespace winnow::newsfeed {
namespace {

using testing::HasSubstr;

constexpr uint64_t kFilter = 7;

Millis Ms(int64_t ms) { return Millis(std::chrono::milliseconds(ms)); }

FeedPosition Deep() {
  return {.before = FeedKey{Ms(1'737'100'800'000), "naver_abc123"},
          .since = 0,
          .until = 42,
          .epoch = "7301-1"};
}

void ExpectRefused(const std::string& token, const std::string& why) {
  const auto parsed = ParseFeedToken(token, kFilter);
  ASSERT_FALSE(parsed.ok()) << token;
  EXPECT_EQ(ReasonOf(parsed.status()), Reason::kInvalidPageToken) << token;
  EXPECT_THAT(Message(parsed.status()), HasSubstr(why)) << token;
}

TEST(FeedTokens, SayWhereToGoOn) {
  for (const FeedPosition& position :
       {Deep(), FeedPosition{.since = 42, .epoch = "7301-1"},
        FeedPosition{.before = FeedKey{Ms(-62'135'596'800'000), "a"}, .since = 3, .until = 9},
        FeedPosition{.before = FeedKey{Ms(0), ""}, .until = 0}}) {
    const auto parsed = ParseFeedToken(EncodeFeedToken(position, kFilter), kFilter);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, position);
  }
}

TEST(FeedTokens, MayBeEmptyForTheTop) { EXPECT_EQ(*ParseFeedToken("", kFilter), FeedPosition{}); }

TEST(FeedTokens, BelongToOneFeedAndFilter) {
  const auto parsed = ParseFeedToken(EncodeFeedToken(Deep(), kFilter), kFilter + 1);
  EXPECT_EQ(ReasonOf(parsed.status()), Reason::kInvalidPageToken);
  EXPECT_THAT(Message(parsed.status()), HasSubstr("other filters"));
}

TEST(FeedTokens, NeverBeginAsThePublishedCursorDoes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    FeedPosition position = Deep();
    position.until = static_cast<int64_t>(random() >> 1);
    const std::string token = EncodeFeedToken(position, random());
    ASSERT_FALSE(token[0] == '-' || ('0' <= token[0] && token[0] <= '9')) << token;
  }
}

// The public implementation splits at the last underscore: its own example id breaks, and
// "12_34" becomes the year 7574.
TEST(PublishedCursors, AreSplitAtTheFirstUnderscore) {
  const auto parsed = ParseFeedToken("1737100800000_naver_abc123", kFilter);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->before, (FeedKey{Ms(1'737'100'800'000), "naver_abc123"}));
  EXPECT_EQ(parsed->until, std::nullopt) << "its watermark is now";
  EXPECT_EQ(ParseFeedToken("1737100800000_12_34", kFilter)->before->id, "12_34");
  EXPECT_EQ(ParseFeedToken("-1_a", kFilter)->before->publish_time, Ms(-1));
}

TEST(PublishedCursors, ThatAreMalformedAreRefused) {
  ExpectRefused("1737100800000", "is not a cursor");
  ExpectRefused("1737100800000_", "is not a cursor");
  ExpectRefused("17371x_a", "is not a cursor");
  ExpectRefused("-_a", "is not a cursor");
  ExpectRefused("99999999999999999999999_a", "is not a cursor");
  ExpectRefused("253402300800000_a", "years 1 to 9999");
  ExpectRefused("-62135596800001_a", "years 1 to 9999");
  ExpectRefused("1_a b", "no article id");
  ExpectRefused(std::string("1_a\0b", 5), "no article id");
}

TEST(FeedTokens, WithImpossibleContentAreRefused) {
  const auto refused = [](FeedPosition position) {
    ExpectRefused(EncodeFeedToken(position, kFilter), "");
  };
  FeedPosition position = Deep();
  position.since = 43;
  refused(position);  // since > until
  position = Deep();
  position.since = -1;
  refused(position);
  position = Deep();
  position.until = -2;
  refused(position);
  position = Deep();
  position.before->id = "a\xFF";
  refused(position);
  position = Deep();
  position.before->publish_time = Ms(INT64_MAX);
  refused(position);
  position = Deep();
  position.epoch = std::string("a\0", 2);
  refused(position);
  position.epoch = std::string(200, 'a');
  refused(position);
  ExpectRefused("no token", "malformed");
  ExpectRefused(EncodeFeedToken(Deep(), kFilter) + "A", "malformed");
}

TEST(FeedTokens, ThatWereChangedAreRefusedOrAPageOfTheSameFeed) {
  std::mt19937 random(4);
  const std::string token = EncodeFeedToken(Deep(), kFilter);
  for (int i = 0; i < 30'000; ++i) {
    std::string changed = token;
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      changed[random() % changed.size()] = static_cast<char>(random() % 256);
    }
    if (random() % 4 == 0) changed.resize(random() % changed.size());
    const auto parsed = ParseFeedToken(changed, kFilter);
    if (!parsed.ok()) {
      ASSERT_EQ(ReasonOf(parsed.status()), Reason::kInvalidPageToken);
    } else if (parsed->before) {
      ASSERT_TRUE(parsed->before->id.empty() || IsArticleId(parsed->before->id));
    }
  }
}

TEST(FeedHashes, CoverNamespaceCategoryAndEveryFilter) {
  FeedFilter filter;
  filter.sources = {"a", "b"};
  const uint64_t base = HashFeed("default", "ai", filter);
  EXPECT_NE(base, HashFeed("other", "ai", filter));
  EXPECT_NE(base, HashFeed("default", "all", filter));
  FeedFilter other = filter;
  other.sources = {"b", "a", "a"};
  EXPECT_EQ(base, HashFeed("default", "ai", other)) << "order and repeats do not matter";
  other.sources = {"ab"};
  EXPECT_NE(base, HashFeed("default", "ai", other));
  other = filter;
  std::swap(other.sources, other.languages);
  EXPECT_NE(base, HashFeed("default", "ai", other));
  other = filter;
  other.has_image = false;
  EXPECT_NE(base, HashFeed("default", "ai", other));
  other = filter;
  other.publish_time_from = Time();
  EXPECT_NE(base, HashFeed("default", "ai", other));
  other = filter;
  other.publish_time_until = Time();
  EXPECT_NE(base, HashFeed("default", "ai", other));
}

}  // namespace
}  // namespace winnow::newsfeed
