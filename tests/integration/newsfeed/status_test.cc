#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// What was counted, and how feeds are served.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;

class FeedStatuses : public NewsFeedTest {
 protected:
  StatusOr<v1::GetFeedStatsResponse> Stats(v1::StatsDimension dimension, int days = 0) {
    v1::GetFeedStatsRequest request;
    request.set_dimension(dimension);
    request.set_days(days);
    return feed_handlers_.GetFeedStats(Call(), request);
  }

  std::vector<std::string> Lines(v1::StatsDimension dimension, int days = 0) {
    std::vector<std::string> lines;
    const auto stats = Stats(dimension, days);
    EXPECT_TRUE(stats.ok()) << stats.status();
    if (!stats.ok()) return lines;
    for (const v1::FeedCounter& counter : stats->counters()) {
      lines.push_back(counter.key() + " " + std::to_string(counter.article_count()) + "/" +
                      std::to_string(counter.citation_count()));
    }
    return lines;
  }

  v1::GetFeedStatusResponse Of(const std::string& category = "") {
    v1::GetFeedStatusRequest request;
    request.set_category_id(category);
    auto status = feed_handlers_.GetFeedStatus(Call(), request);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? *status : v1::GetFeedStatusResponse();
  }

  // The store's clock counts days; the handlers' is set to it.
  void SetClock() {
    clock_.Set(*FromTimestamp(List(Feed()).meta().last_refresh_time()) + minutes(1));
  }
};

TEST_F(FeedStatuses, CountsArticlesByCategoryAndSourceAndCitationsByChannel) {
  Create("ai");
  Create("energy");
  v1::Article other = Make("c", minutes(2), {"ai", "energy"});
  other.set_source("other");
  Upsert({Make("a"), Make("b", minutes(1), {"ai"}), other});
  Upsert({Make("a")});  // again: counts once
  UpsertOne(Make("a", {}, {"energy"}));
  Citation citation{"default", "a", "dup1", "channel-x", "", clock_.Now()};
  ASSERT_TRUE(writer_.Cite(Soon(), {&citation, 1}).ok());
  ASSERT_TRUE(writer_.Cite(Soon(), {&citation, 1}).ok()) << "again: counts once";
  citation.duplicate = "dup2";
  ASSERT_TRUE(writer_.Cite(Soon(), {&citation, 1}).ok());
  SetClock();
  EXPECT_THAT(Lines(v1::STATS_DIMENSION_CATEGORY),
              ElementsAre("ai 2/0", "energy 1/0", "uncategorized 1/0"));
  EXPECT_THAT(Lines(v1::STATS_DIMENSION_SOURCE), ElementsAre("example 2/0", "other 1/0"));
  EXPECT_THAT(Lines(v1::STATS_DIMENSION_CHANNEL), ElementsAre("channel-x 0/2"));
  const auto stats = Stats(v1::STATS_DIMENSION_CHANNEL);
  ASSERT_EQ(stats->counters(0).days_size(), 1);
  EXPECT_EQ(stats->counters(0).days(0).day().seconds() % 86'400, 0) << "midnight in UTC";
}

// The naive way, INCR and then EXPIRE, leaves keys that live for ever when it dies in between; and
// local dates against a UTC expiry end days at different times.
TEST_F(FeedStatuses, CountersOfADayGoTogetherAfterNinetyDays) {
  Upsert({Make("a")});
  Execute("UPDATE newsfeed.feed_counters SET day = day - 90");
  Execute(
      "INSERT INTO newsfeed.feed_counters SELECT namespace, day - 1, kind, key, 7, 7 "
      "FROM newsfeed.feed_counters");
  Upsert({Make("b")});
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.feed_counters WHERE day < "
                  "(now() AT TIME ZONE 'UTC')::date - 90"),
            0);
  EXPECT_EQ(Count("SELECT count(DISTINCT day) FROM newsfeed.feed_counters"), 2);
  SetClock();
  EXPECT_THAT(Lines(v1::STATS_DIMENSION_SOURCE, 1), ElementsAre("example 1/0"));
}

TEST_F(FeedStatuses, StatsRefuseWhatMakesNoSense) {
  EXPECT_EQ(ViolationsOf(Stats(v1::STATS_DIMENSION_UNSPECIFIED, 91).status()).size(), 2u);
  v1::GetFeedStatsRequest request;
  request.set_dimension(v1::STATS_DIMENSION_SOURCE);
  request.set_limit(-1);
  EXPECT_EQ(ViolationsOf(feed_handlers_.GetFeedStats(Call(), request).status())[0].field, "limit");
}

TEST_F(FeedStatuses, SaysWhatEachTierHolds) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 40; ++i) batch.push_back(Make("n" + std::to_string(i), minutes(i)));
  Upsert(batch);
  v1::GetFeedStatusResponse status = Of();
  EXPECT_FALSE(status.has_memory());
  EXPECT_EQ(status.store().head(), 40);
  EXPECT_FALSE(status.has_projection()) << "there is no Redis";
  memory_worker_.Start();
  v1::RefreshFeedRequest refresh;
  const auto refreshed = feed_handlers_.RefreshFeed(Call(), refresh);
  ASSERT_TRUE(refreshed.ok()) << refreshed.status();
  EXPECT_EQ(refreshed->cached_count(), kMemoryArticles);
  EXPECT_FALSE(refreshed->projection_requested());
  status = Of();
  EXPECT_EQ(status.memory().cached_count(), kMemoryArticles);
  EXPECT_FALSE(status.memory().whole());
  EXPECT_EQ(status.memory().floor_id(), "n19");
  EXPECT_EQ(status.memory().position(), 40);
  EXPECT_EQ(status.memory().lag(), 0);
  List(Feed("", 5));
  List(Feed("", 30));
  Create("ai");
  List(Feed("ai"));
  status = Of();
  EXPECT_EQ(status.pages().memory_count(), 1);
  EXPECT_EQ(status.pages().spliced_count(), 1);
  EXPECT_EQ(status.pages().store_count(), 1);
}

TEST_F(FeedStatuses, RefreshMendsAMemoryThatWentWrong) {
  Upsert({Make("a"), Make("b", minutes(1))});
  memory_worker_.Start();
  ASSERT_TRUE(feed_handlers_.RefreshFeed(Call(), v1::RefreshFeedRequest()).ok());
  memory_.Apply(100, {{"default/all", {{ToMillis(clock_.Now()), "a"}, 0, nullptr}}});
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("b")) << "as a defect would leave it";
  ASSERT_TRUE(feed_handlers_.RefreshFeed(Call(), v1::RefreshFeedRequest()).ok());
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("a", "b"));
}

TEST_F(FeedStatuses, KnowsNoFeedOfNoCategory) {
  v1::GetFeedStatusRequest status;
  status.set_category_id("nowhere");
  EXPECT_EQ(feed_handlers_.GetFeedStatus(Call(), status).status().code(), StatusCode::kNotFound);
  v1::RefreshFeedRequest refresh;
  refresh.set_category_id("nowhere");
  EXPECT_EQ(feed_handlers_.RefreshFeed(Call(), refresh).status().code(), StatusCode::kNotFound);
  refresh.set_category_id("No Slug");
  EXPECT_EQ(feed_handlers_.RefreshFeed(Call(), refresh).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow::newsfeed
