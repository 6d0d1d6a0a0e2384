#include "services/newsfeed/keywords/keywords.h"

#include <random>

#include "services/newsfeed/api/convert.h"
#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/postgres/plans.h"
#include "tests/support/sync/eventually.h"

// Feeds filtered by what their articles' keywords and tags say.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KeywordFeeds : public NewsFeedTest {
 protected:
  v1::Article Tagged(const std::string& id, minutes age, const std::vector<std::string>& keywords,
                     const std::vector<std::string>& categories = {}) const {
    v1::Article article = Make(id, age, categories);
    for (const std::string& keyword : keywords) article.add_keywords(keyword);
    return article;
  }

  static v1::ListArticlesRequest About(const std::string& expression, int page_size = 20,
                                       const std::string& category = "") {
    v1::ListArticlesRequest request = Feed(category, page_size);
    request.mutable_filter()->set_keywords(expression);
    return request;
  }
};

TEST_F(KeywordFeeds, ShowWhatTheExpressionMeans) {
  v1::Article tagged = Tagged("n3", minutes(3), {"Solar"});
  tagged.add_ai_tags("ＡＩ");
  Upsert({Tagged("n0", minutes(0), {"climate", "solar"}), Tagged("n1", minutes(1), {"climate"}),
          Tagged("n2", minutes(2), {}), tagged, Tagged("n4", minutes(4), {"it's \\ \"x\""})});
  EXPECT_THAT(Scroll(About("climate", 1)), ElementsAre("n0", "n1"));
  EXPECT_THAT(Scroll(About("climate AND solar", 1)), ElementsAre("n0"));
  EXPECT_THAT(Scroll(About("climate OR solar", 1)), ElementsAre("n0", "n1", "n3"));
  EXPECT_THAT(Scroll(About("solar AND NOT climate", 1)), ElementsAre("n3"));
  EXPECT_THAT(Scroll(About("NOT climate", 1)), ElementsAre("n2", "n3", "n4"));
  EXPECT_THAT(Scroll(About("ai", 1)), ElementsAre("n3")) << "tags count as well";
  EXPECT_THAT(Scroll(About("\"it's \\\\ \\\"x\\\"\"", 1)), ElementsAre("n4"));
  EXPECT_THAT(Scroll(About("nothing", 1)), IsEmpty());
}

// 400 articles of 8 of 12 keywords in two feeds, any expression, page size and watermark: what a
// scroll shows is what going through all articles finds.
TEST_F(KeywordFeeds, EqualBruteForce) {
  Create("tech");
  Create("ai", "tech");
  std::mt19937 random(23);
  std::vector<v1::Article> all;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::string> keywords;
    for (int k = 0; k < 8; ++k) keywords.push_back("k" + std::to_string(random() % 12));
    const auto categories =
        i % 3 == 0 ? std::vector<std::string>{"ai"} : std::vector<std::string>();
    all.push_back(Tagged("n" + std::to_string(1000 + i), minutes(i / 3), keywords, categories));
    all.back().set_source("s" + std::to_string(i % 2));
  }
  Upsert(all);
  std::sort(all.begin(), all.end(), [](const v1::Article& a, const v1::Article& b) {
    const auto time = [](const v1::Article& x) { return *FromTimestamp(x.publish_time()); };
    return time(a) != time(b) ? time(a) > time(b) : a.id() > b.id();
  });
  const char* shapes[] = {"A AND B AND C", "A OR B OR C",          "A AND NOT B AND NOT C",
                          "NOT A",         "A AND (B OR NOT C)",   "A AND B OR B AND C",
                          "NOT (A AND B)", "(A OR B) AND (B OR C)"};
  for (int round = 0; round < 40; ++round) {
    std::string expression;
    for (const char* c = shapes[round % 8]; *c != '\0'; ++c) {
      expression += 'A' <= *c && *c <= 'C' && (c[1] == ' ' || c[1] == ')' || c[1] == '\0')
                        ? "k" + std::to_string(random() % 12)
                        : std::string(1, *c);
    }
    const auto parsed = ParseKeywordExpression(expression);
    if (!parsed.ok()) continue;  // such as k1 AND NOT k1
    const bool in_tech = round % 2 == 1;
    const bool one_source = round % 3 == 2;
    std::vector<std::string> expected;
    for (const v1::Article& article : all) {
      if (in_tech && article.categories().empty()) continue;
      if (one_source && article.source() != "s1") continue;
      if (Holds(*parsed, ToTerms({article.keywords().begin(), article.keywords().end()}, {}))) {
        expected.push_back(article.id());
      }
    }
    v1::ListArticlesRequest request = About(expression, 1 + round % 7 * 5, in_tech ? "tech" : "");
    if (one_source) request.mutable_filter()->add_sources("s1");
    EXPECT_THAT(Scroll(request), ElementsAreArray(expected)) << expression;
  }
}

TEST_F(KeywordFeeds, ShowEditedArticlesByWhatTheyAreNow) {
  Upsert({Tagged("n0", minutes(0), {"a"}), Tagged("n1", minutes(1), {"a"})});
  UpsertOne(Tagged("n1", minutes(1), {"b"}));
  EXPECT_THAT(Scroll(About("a")), ElementsAre("n0"));
  EXPECT_THAT(Scroll(About("b")), ElementsAre("n1"));
  EXPECT_THAT(Scroll(About("NOT a")), ElementsAre("n1"));
  ASSERT_TRUE(Delete("n0").ok());
  EXPECT_THAT(Scroll(About("a")), IsEmpty());
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.article_keywords"), 1);
}

TEST_F(KeywordFeeds, AreOneScrollWithItsWatermarkAndItsNewerFeed) {
  Upsert({Tagged("n0", minutes(0), {"a"}), Tagged("n2", minutes(2), {"a", "b"}),
          Tagged("n3", minutes(3), {"b"})});
  v1::ListArticlesRequest request = About("a OR b", 1);
  const v1::ListArticlesResponse first = List(request);
  Upsert({Tagged("n1", minutes(1), {"a"}), Tagged("m1", minutes(1), {"c"})});
  request.set_page_token(first.next_page_token());
  EXPECT_THAT(Scroll(request), ElementsAre("n2", "n3"));
  request.set_page_token(first.newer_token());
  EXPECT_THAT(Scroll(request), ElementsAre("n1"));
  v1::CountNewArticlesRequest count;
  count.mutable_filter()->set_keywords("b OR a");  // the same, written differently
  count.set_token(first.newer_token());
  EXPECT_EQ(feed_handlers_.CountNewArticles(Call(), count)->article_count(), 1);
  count.mutable_filter()->set_keywords("a");
  EXPECT_EQ(ReasonOf(feed_handlers_.CountNewArticles(Call(), count).status()),
            Reason::kInvalidPageToken);
}

TEST_F(KeywordFeeds, AreCutFromMemoryAsFromTheStore) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 60; ++i) {
    batch.push_back(Tagged("n" + std::to_string(100 + i), minutes(i),
                           {i % 2 == 0 ? "even" : "odd", i % 3 == 0 ? "third" : "other"}));
  }
  Upsert(batch);
  const auto from_store = Scroll(About("even AND third", 3));
  EXPECT_EQ(from_store.size(), 10u);
  memory_worker_.Start();
  EXPECT_TRUE(test::Eventually(
      [&] { return List(Feed("", 5)).meta().tiers(0).tier() == v1::TIER_MEMORY; }));
  EXPECT_EQ(List(About("even AND third", 3)).meta().tiers(0).tier(), v1::TIER_MEMORY);
  EXPECT_THAT(Scroll(About("even AND third", 3)), ElementsAreArray(from_store))
      << "spliced below memory's floor";
}

// The naive way filters after LIMIT and answers empty pages that claim more (NewsBlur #1978).
TEST_F(KeywordFeeds, StopShortOnlyAfterTheirScanAndThenGoOn) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 90; ++i) batch.push_back(Tagged("n" + std::to_string(i), minutes(i), {"a"}));
  batch.push_back(Tagged("rare", minutes(95), {"a", "b"}));
  for (int i = 0; i < 90; ++i) {
    batch.push_back(Tagged("o" + std::to_string(i), minutes(100 + i), {"b"}));
  }
  Upsert(batch);
  FeedQuery query;
  query.category = "all";
  query.filter.keywords = *ParseKeywordExpression("a AND b");
  query.page_size = 5;
  query.scan_limit = 40;
  std::vector<std::string> ids;
  int pages = 0;
  do {
    const auto page = feeds_.ListArticles(Soon(), query);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const StoredArticle& article : page->articles) ids.push_back(article.content.id);
    query.position = {.before = page->next, .until = page->until, .epoch = page->epoch};
    ASSERT_LT(++pages, 10);
  } while (query.position.before);
  EXPECT_THAT(ids, ElementsAre("rare"));
  EXPECT_EQ(pages, 3) << "91 rows, 40 at a time";
}

TEST_F(KeywordFeeds, ArePlannedByIndex) {
  pg::Pool one{{.name = "one", .url = url_, .connections = 1}, metrics_};
  FeedStore store(one);
  Upsert({Tagged("n0", minutes(0), {"a", "b"})});
  FeedQuery query;
  query.category = "all";
  for (const char* expression : {"a AND b", "NOT c"}) {
    query.filter.keywords = *ParseKeywordExpression(expression);
    ASSERT_TRUE(store.ListArticles(Soon(), query).ok());
  }
  const auto plans = test::KeptPlans(one);
  for (const char* name : {"newsfeed.page_by_keyword", "newsfeed.count_keywords"}) {
    ASSERT_TRUE(plans.contains(name)) << name;
    EXPECT_THAT(plans.at(name), Not(HasSubstr("Seq Scan on article_keywords"))) << plans.at(name);
    EXPECT_THAT(plans.at(name), Not(HasSubstr("Seq Scan on feed_entries"))) << plans.at(name);
    EXPECT_THAT(plans.at(name), Not(HasSubstr("Sort Key: k.published_at"))) << plans.at(name);
  }
}

TEST_F(KeywordFeeds, RefuseWhatIsNoExpression) {
  const auto refused = ListWaiting(feed_handlers_, Call(), About("a AND"));
  ASSERT_EQ(ViolationsOf(refused.status()).size(), 1u);
  EXPECT_EQ(ViolationsOf(refused.status())[0].field, "filter.keywords");
}

}  // namespace
}  // namespace winnow::newsfeed
