#include <charconv>
#include <chrono>
#include <functional>
#include <optional>

#include "services/newsfeed/api/convert.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// What goes wrong with scrolls in the known systems. Each test is its own control: the naive way
// fails on the same data. (Cursors of milliseconds alone: newsfeed_scroll_test.cc.)
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

class ScrollFailures : public NewsFeedTest {
 protected:
  // n0 (newest) to n<count - 1>, a minute apart.
  void Fill(int count) {
    std::vector<v1::Article> articles;
    for (int i = 0; i < count; ++i) articles.push_back(Make("n" + std::to_string(i), minutes(i)));
    Upsert(articles);
  }

  // The newest articles below a key, as the store has them.
  FeedPage Read(int size, std::optional<FeedKey> before = std::nullopt) {
    FeedQuery query;
    query.category = "all";
    query.page_size = size;
    query.position.before = std::move(before);
    auto page = feeds_.ListArticles(Soon(), query);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? *std::move(page) : FeedPage();
  }

  static std::vector<std::string> IdsIn(const FeedPage& page) {
    std::vector<std::string> ids;
    for (const StoredArticle& article : page.articles) ids.push_back(article.content.id);
    return ids;
  }

  static FeedKey LastOf(const FeedPage& page) {
    return {page.articles.back().publish_time, page.articles.back().content.id};
  }

  // Rows of tables and indexes that were read for it, and what else was read meanwhile.
  static int64_t RowsReadBy(pg::Pool& one, const std::function<Status(pg::Session&)>& read) {
    int64_t before = 0;
    int64_t after = 0;
    const auto note = [&](int64_t& rows) {
      return one.Statements(Soon(), [&](pg::Session& session) {
        session.ExecuteText("SELECT pg_stat_force_next_flush()");
        rows = session
                   .ExecuteText(
                       "SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + "
                       "(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes))::bigint")[0][0]
                   .as<int64_t>();
        return OkStatus();
      });
    };
    EXPECT_TRUE(note(before).ok());
    const Status done = one.Statements(Soon(), read);
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_TRUE(note(after).ok());
    return after - before;
  }

  static bool InMemory(const v1::ListArticlesResponse& page) {
    return page.meta().tiers_size() > 0 && page.meta().tiers(0).tier() == v1::TIER_MEMORY;
  }
};

// As the public implementation does: rsplit("_", 1), and int() of Python, to which "1_2" is 12.
std::optional<Millis> NaiveTime(std::string_view cursor) {
  std::string digits(cursor.substr(0, cursor.rfind('_')));
  std::erase(digits, '_');
  int64_t ms = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, ms);
  if (error != std::errc() || stop != end) return std::nullopt;
  return Millis(std::chrono::milliseconds(ms));
}

TEST_F(ScrollFailures, ACursorSplitAtItsLastUnderscoreBreaksOrLeadsElsewhere) {
  Upsert({Make("naver_abc123"), Make("12_34", minutes(1)), Make("last", minutes(2))});
  const auto cursor = [&](minutes age, const std::string& id) {
    return std::to_string(ToMillis(clock_.Now() - age).time_since_epoch().count()) + "_" + id;
  };
  const std::string first = cursor(minutes(0), "naver_abc123");
  const std::string second = cursor(minutes(1), "12_34");
  EXPECT_EQ(NaiveTime(first), std::nullopt) << "the control cannot read its own example";
  ASSERT_TRUE(NaiveTime(second).has_value());
  const auto day = std::chrono::floor<std::chrono::days>(*NaiveTime(second));
  EXPECT_GT(std::chrono::year_month_day(day).year(), std::chrono::year(7000));
  EXPECT_THAT(Scroll(Feed("", 1, first)), ElementsAre("12_34", "last"));
  EXPECT_THAT(Scroll(Feed("", 1, second)), ElementsAre("last"));
}

// The control caches members by one rebuild, and takes the floor from the one before.
TEST_F(ScrollFailures, AFloorOfOneRebuildAndMembersOfTheNextSkipWhatIsBetween) {
  memory_worker_.Start();
  Fill(40);
  ASSERT_TRUE(test::Eventually([&] { return InMemory(List(Feed("", 5))); }));
  const FeedKey floor = LastOf(Read(10));
  std::vector<v1::Article> newer;
  for (int i = 1; i <= 6; ++i) newer.push_back(Make("new" + std::to_string(i), minutes(-i)));
  Upsert(newer);  // more than memory holds besides: its floor rises
  std::vector<std::string> control = IdsIn(Read(10));
  for (std::string& id : IdsIn(Read(100, floor))) control.push_back(std::move(id));
  EXPECT_THAT(control, SizeIs(40)) << "6 of 46 are in neither";
  ASSERT_TRUE(test::Eventually([&] { return memory_.position() >= last_commit_.Get(); }));
  EXPECT_EQ(memory_.articles(), size_t{kMemoryArticles});
  EXPECT_EQ(Scroll(Feed("", 7)), IdsIn(Read(100)));
}

// The control installs what it has read, whatever happened since.
TEST_F(ScrollFailures, ARebuildThatReadBeforeADeleteBringsTheArticleBack) {
  Fill(5);
  const FeedPage read = Read(5);
  ASSERT_TRUE(Delete("n2").ok());
  EXPECT_THAT(IdsIn(read), Contains("n2")) << "the control shows it again";
  // Ours gets the same rows as late, and goes through the log from where they were read.
  memory_worker_.SetColdRead([&](const std::string& ns, const std::string&) {
    FeedFill fill;
    fill.ns = ns;
    fill.whole = true;
    fill.position = read.until;
    fill.epoch = read.epoch;
    fill.source = FillSource::kRedis;
    for (size_t i = 0; i < read.articles.size(); ++i) {
      const StoredArticle& article = read.articles[i];
      fill.entries.push_back(
          {{article.publish_time, article.content.id}, read.seqs[i], Encode(article)});
    }
    return std::optional(std::move(fill));
  });
  memory_worker_.Start();
  v1::ListArticlesResponse page;
  ASSERT_TRUE(test::Eventually([&] {
    page = List(Feed());
    return InMemory(page) && page.articles_size() == 4;
  }));
  EXPECT_THAT(IdsOf(page), ElementsAre("n0", "n1", "n3", "n4"));
  EXPECT_EQ(page.meta().memory_filled_from(), v1::TIER_REDIS) << "of those rows";
}

// The control reads a page and then leaves out what the filter does not want.
TEST_F(ScrollFailures, FiltersAfterTheLimitMakeEmptyPagesThatClaimMore) {
  std::vector<v1::Article> articles;
  for (int i = 0; i < 200; ++i) {
    articles.push_back(Make("n" + std::to_string(i), minutes(i)));
    articles.back().set_language(i % 40 == 39 ? "ko" : "en");
  }
  Upsert(articles);
  int empty = 0;
  for (int offset = 0; offset < 180; offset += 20) {  // after each of these are more
    const int64_t shown = Count(
        "SELECT count(*) FILTER (WHERE p.language = 'ko') FROM (SELECT a.language "
        "FROM newsfeed.news_articles a ORDER BY a.published_at DESC, a.id DESC LIMIT 20 OFFSET " +
        std::to_string(offset) + ") p");
    if (shown == 0) ++empty;
  }
  EXPECT_GT(empty, 3);
  v1::ListArticlesRequest request = Feed("", 2);
  request.mutable_filter()->add_languages("ko");
  std::vector<int> sizes;
  do {
    const v1::ListArticlesResponse page = List(request);
    sizes.push_back(page.articles_size());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
}

// The control counts the feed with each page.
TEST_F(ScrollFailures, CountingWithEachPageReadsTheWholeFeed) {
  constexpr int kTimes = 200;
  Fill(600);
  pg::Pool one({.name = "one", .url = url_, .connections = 1}, metrics_);
  const int64_t counted = RowsReadBy(one, [](pg::Session& session) {
    for (int i = 0; i < kTimes; ++i) {
      session.ExecuteText(
          "SELECT count(*) FROM newsfeed.feed_entries e WHERE e.feed = 'default/all'");
    }
    return OkStatus();
  });
  EXPECT_GE(counted, 600 * kTimes);
  pg::Pool other({.name = "other", .url = url_, .connections = 1}, metrics_);
  FeedStore store(one);
  FeedQuery query;
  query.category = "all";
  const int64_t read = RowsReadBy(other, [&](pg::Session&) {
    for (int i = 0; i < kTimes; ++i) {
      if (const auto page = store.ListArticles(Soon(), query); !page.ok()) return page.status();
    }
    return one.Statements(Soon(), [](pg::Session& session) {
      session.ExecuteText("SELECT pg_stat_force_next_flush()");
      return OkStatus();
    });
  });
  EXPECT_GE(read, 20 * kTimes);
  EXPECT_LT(read * 3, counted);
}

// The control finds its place by the row that the last page ended with.
TEST_F(ScrollFailures, ACursorOnADeletedRowEndsTheFeedOrBeginsItAgain) {
  Fill(10);
  const v1::ListArticlesResponse page = List(Feed("", 3));
  ASSERT_TRUE(Delete("n2").ok());
  const std::string place =
      "(SELECT p.published_at FROM newsfeed.news_articles p WHERE p.id = 'n2' AND NOT "
      "p.is_deleted)";
  const std::string below =
      "SELECT count(*) FROM newsfeed.news_articles a WHERE NOT a.is_deleted AND a.published_at < ";
  EXPECT_EQ(Count(below + place), 0) << "it ends";
  EXPECT_EQ(Count(below + "coalesce(" + place + ", 'infinity')"), 9) << "it begins again";
  EXPECT_THAT(Scroll(Feed("", 3, page.next_page_token())), SizeIs(7));
}

// The control leaves deleted rows out of what it has read, and takes a short page for the last.
TEST_F(ScrollFailures, DeletedRowsWithinTheLimitEndTheFeedEarly) {
  Fill(30);
  for (const char* id : {"n3", "n14"}) ASSERT_TRUE(Delete(id).ok());
  int64_t shown = 0;
  int64_t page = 10;
  for (int offset = 0; page == 10; offset += 10) {
    page = Count(
        "SELECT count(*) FILTER (WHERE NOT p.is_deleted) FROM (SELECT a.is_deleted "
        "FROM newsfeed.news_articles a ORDER BY a.published_at DESC LIMIT 10 OFFSET " +
        std::to_string(offset) + ") p");
    shown += page;
  }
  EXPECT_EQ(shown, 9);
  EXPECT_THAT(Scroll(Feed("", 10)), AllOf(SizeIs(28), Not(Contains("n3"))));
}

}  // namespace
}  // namespace winnow::newsfeed
