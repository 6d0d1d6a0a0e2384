#include <algorithm>
#include <thread>

#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ArticleUpserts : public NewsFeedTest {};

v1::Article Full(v1::Article article) {
  article.set_namespace_("news");
  article.set_snippet("A \"lead\" with \\ and {braces}, NULL\nand \xED\x95\x9C\xEA\xB8\x80");
  article.set_source_name("Example");
  article.set_source_icon_url("https://news.example/icon.png");
  article.set_thumbnail_url("https://img.example/1");
  article.set_video_url("https://video.example/1");
  article.add_keywords("one, two");
  article.add_keywords("NULL");
  article.add_ai_tags("tag");
  article.set_language("ko");
  return article;
}

TEST_F(ArticleUpserts, GivesBackEveryFieldAsItWasSent) {
  v1::CreateCategoryRequest category;
  category.mutable_category()->set_namespace_("news");
  category.mutable_category()->set_id("ai");
  category.mutable_category()->set_display_name("AI");
  ASSERT_TRUE(category_handlers_.CreateCategory(Call(), category).ok());
  v1::Article sent = Full(Make("a"));
  v1::ArticleCategory& label = *sent.add_categories();
  label.set_category_id("ai");
  label.set_rule("keyword \"AI\"");
  label.set_score(0.1);
  *sent.mutable_publish_time() = ToTimestamp(At("2026-01-31T10:20:30.123456Z"));
  EXPECT_EQ(UpsertOne(sent).outcome(), v1::UPSERT_OUTCOME_CREATED);

  auto stored = Get("a", "news");
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(FormatTime(*FromTimestamp(stored->publish_time())), "2026-01-31T10:20:30.123Z");
  EXPECT_EQ(FormatTime(*FromTimestamp(stored->raw_publish_time())), "2026-01-31T10:20:30.123456Z");
  EXPECT_EQ(stored->revision(), 1);
  EXPECT_TRUE(stored->has_create_time());
  for (const char* output : {"raw_publish_time", "first_publish_time", "create_time", "update_time",
                             "revision", "publish_time"}) {
    const auto* field = v1::Article::descriptor()->FindFieldByName(output);
    stored->GetReflection()->ClearField(&*stored, field);
    sent.GetReflection()->ClearField(&sent, field);
  }
  EXPECT_EQ(stored->DebugString(), sent.DebugString());
}

TEST_F(ArticleUpserts, TellsAScoreOfNothingFromNone) {
  Create("a");
  Create("b");
  v1::Article sent = Make("x", {}, {"a", "b"});
  sent.mutable_categories(0)->set_score(0);
  UpsertOne(sent);
  const v1::Article stored = *Get("x");
  EXPECT_TRUE(stored.categories(0).has_score());
  EXPECT_EQ(stored.categories(0).score(), 0);
  EXPECT_EQ(stored.categories(1).score(), 1);
}

TEST_F(ArticleUpserts, ChangesOnlyTheRevisionThatIsNamed) {
  EXPECT_EQ(UpsertOne(Make("a")).revision(), 1);
  v1::Article edit = *Get("a");
  edit.set_title("Edited");
  EXPECT_EQ(UpsertOne(edit).revision(), 2);
  EXPECT_EQ(UpsertOne(edit).outcome(), v1::UPSERT_OUTCOME_UNCHANGED) << "a retry is no conflict";
  v1::Article late = Make("a");
  late.set_revision(1);
  v1::Article unknown = Make("nobody");
  unknown.set_revision(1);
  v1::Article merged = Make("b");
  merged.set_url(edit.url());
  merged.set_snippet("longer");
  merged.set_revision(7);
  v1::Article negative = Make("c");
  negative.set_revision(-1);
  const v1::BatchUpsertArticlesResponse refused = Upsert({late, unknown, merged, negative});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(refused.results(i).error().code(), static_cast<int>(StatusCode::kAborted)) << i;
  }
  EXPECT_THAT(refused.results(3).error().message(), HasSubstr("articles[3].revision"));
  EXPECT_EQ(Get("a")->title(), "Edited");
  EXPECT_EQ(Get("b").status().code(), StatusCode::kNotFound) << "a refused id is no alias";
}

TEST_F(ArticleUpserts, HoldsYearsOneAndNineThousandNineHundredNinetyNine) {
  v1::Article first = Make("first");
  *first.mutable_publish_time() = ToTimestamp(At("0001-01-01T00:00:00.000999Z"));
  v1::Article last = Make("last");
  *last.mutable_publish_time() = ToTimestamp(At("9999-12-31T23:59:59.999999Z"));
  Upsert({first, last});
  EXPECT_EQ(FormatTime(*FromTimestamp(Get("first")->publish_time())), "0001-01-01T00:00:00Z");
  const v1::Article clamped = *Get("last");
  EXPECT_TRUE(clamped.publish_time_clamped());
  EXPECT_EQ(*FromTimestamp(clamped.publish_time()), clock_.Now() + std::chrono::minutes(10));
  EXPECT_EQ(FormatTime(*FromTimestamp(clamped.raw_publish_time())), "9999-12-31T23:59:59.999999Z");
  EXPECT_THAT(Scroll(Feed("", 1)), ElementsAre("last", "first"));
}

// There the first hours of year 1 are of year 1 BC, and the last of 9999 of 10000 in the east.
TEST_F(ArticleUpserts, HoldsThemInADatabaseOfAnotherTimeZone) {
  v1::Article article = Make("a");
  *article.mutable_publish_time() = ToTimestamp(At("0001-01-01T00:00:00Z"));
  UpsertOne(article);
  Execute(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone TO %L', current_database(), "
      "'America/New_York'); END $$");
  pg::Pool pool({.name = "west", .url = url_}, metrics_);
  ArticleStore store(pool);
  const auto stored = store.Get(Soon(), "default", "a");
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(FormatTime(stored->content.publish_time), "0001-01-01T00:00:00Z");
}

TEST_F(ArticleUpserts, WritesNoArticleRowForAReplay) {
  std::vector<v1::Article> batch;
  for (int i = 0; i < 50; ++i) batch.push_back(Make("a" + std::to_string(i)));
  Upsert(batch);
  const int64_t last_write = Count("SELECT max(xmin::text::bigint) FROM newsfeed.news_articles");
  const int64_t entries = Count("SELECT max(xmin::text::bigint) FROM newsfeed.feed_entries");
  const int64_t head = Count("SELECT head FROM newsfeed.log_streams");
  clock_.Advance(hours(1));
  const v1::BatchUpsertArticlesResponse again = Upsert(batch);
  for (const v1::UpsertArticleResult& result : again.results()) {
    EXPECT_EQ(result.upserted().outcome(), v1::UPSERT_OUTCOME_UNCHANGED);
    EXPECT_EQ(result.upserted().revision(), 1);
  }
  EXPECT_EQ(Count("SELECT max(xmin::text::bigint) FROM newsfeed.news_articles"), last_write);
  EXPECT_EQ(Count("SELECT max(xmin::text::bigint) FROM newsfeed.feed_entries"), entries);
  EXPECT_EQ(Count("SELECT head FROM newsfeed.log_streams"), head);
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.last_seen"), 50);
}

TEST_F(ArticleUpserts, DropsOldChangesFromTheLogNowAndThen) {
  UpsertOne(Make("a"));
  Execute("UPDATE newsfeed.log_streams SET head = 1001997");
  UpsertOne(Make("b"));
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.feed_log"), 2);
  Upsert({Make("c"), Make("d")});  // up to 1,002,000
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.feed_log"), 3);
  EXPECT_EQ(Count("SELECT min(seq) FROM newsfeed.feed_log"), 1'001'998);
}

TEST_F(ArticleUpserts, FindsAMergedArticleByEitherId) {
  v1::Article second = Make("second");
  second.set_url("http://www.news.example/first?utm_source=rss#top");
  second.set_snippet("lead");
  UpsertOne(Make("first"));
  const v1::UpsertedArticle merged = UpsertOne(second);
  EXPECT_EQ(merged.id(), "first");
  EXPECT_EQ(merged.outcome(), v1::UPSERT_OUTCOME_MERGED);
  EXPECT_EQ(merged.revision(), 2);
  EXPECT_EQ(Get("second")->id(), "first");
  EXPECT_EQ(Get("second")->snippet(), "lead");
  EXPECT_THAT(Scroll(Feed()), ElementsAre("first"));
  EXPECT_EQ(UpsertOne(second).outcome(), v1::UPSERT_OUTCOME_MERGED) << "a replay";
  EXPECT_EQ(UpsertOne(Make("first")).outcome(), v1::UPSERT_OUTCOME_UNCHANGED);
  EXPECT_EQ(Get("first")->snippet(), "lead") << "a replay undoes no merge";
  ASSERT_TRUE(Delete("second").ok());
  EXPECT_EQ(Get("first").status().code(), StatusCode::kNotFound);
}

TEST_F(ArticleUpserts, KeepsNamespacesApart) {
  v1::Article other = Make("a");
  other.set_namespace_("other");
  Upsert({Make("a"), other});
  EXPECT_THAT(Scroll(Feed()), ElementsAre("a"));
  ASSERT_TRUE(Delete("a").ok());
  EXPECT_TRUE(Get("a", "other").ok());
}

TEST_F(ArticleUpserts, RefusesBadArticlesAlone) {
  v1::Article bad;
  bad.set_id("b b");
  v1::Article lost = Make("lost");
  lost.add_categories()->set_category_id("nowhere");
  v1::Article late = Make("late");
  late.mutable_publish_time()->set_seconds(400'000'000'000);
  const auto response = Upsert({Make("a"), bad, lost, late, Make("z")});
  ASSERT_EQ(response.results_size(), 5);
  EXPECT_TRUE(response.results(0).has_upserted());
  EXPECT_TRUE(response.results(4).has_upserted());
  const std::string message = response.results(1).error().message();
  for (const char* field : {"articles[1].id", "articles[1].url", "articles[1].title",
                            "articles[1].source", "articles[1].publish_time"}) {
    EXPECT_THAT(message, HasSubstr(field));
  }
  EXPECT_THAT(response.results(2).error().message(),
              HasSubstr("articles[2].categories[0].category_id: category \"nowhere\""));
  EXPECT_THAT(response.results(3).error().message(), HasSubstr("articles[3].publish_time"));
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.news_articles"), 2);
}

TEST_F(ArticleUpserts, RefusesAnEmptyAndAnOverlongBatch) {
  v1::BatchUpsertArticlesRequest request;
  auto response = article_handlers_.BatchUpsertArticles(Call(), request);
  EXPECT_THAT(Message(response.status()), HasSubstr("articles: has 0 entries: send 1 to 1000"));
  for (int i = 0; i < 1001; ++i) request.add_articles();
  response = article_handlers_.BatchUpsertArticles(Call(), request);
  EXPECT_THAT(Message(response.status()), HasSubstr("has 1001 entries"));
}

TEST_F(ArticleUpserts, LetsArticlesExchangeTheirUrls) {
  Upsert({Make("a"), Make("b")});
  v1::Article a = Make("a");
  v1::Article b = Make("b");
  a.set_url("https://news.example/c");
  b.set_url("https://news.example/a");
  const auto response = Upsert({a, b, Make("new")});
  for (const auto& result : response.results()) EXPECT_TRUE(result.has_upserted());
  EXPECT_EQ(Get("b")->url(), "https://news.example/a");
}

TEST_F(ArticleUpserts, DeletesOnceAndForGood) {
  UpsertOne(Make("a"));
  const auto first = Delete("a");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Delete("a")->delete_time().DebugString(), first->delete_time().DebugString());
  EXPECT_EQ(Delete("b").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(UpsertOne(Make("a")).outcome(), v1::UPSERT_OUTCOME_UNCHANGED);
  v1::Article edit = Make("a");
  edit.set_title("Another");
  EXPECT_EQ(UpsertOne(edit).outcome(), v1::UPSERT_OUTCOME_UPDATED);
  EXPECT_EQ(Get("a").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Scroll(Feed()), IsEmpty());
}

TEST_F(ArticleUpserts, TakesALongUrlThatNoIndexWouldHold) {
  v1::Article article = Make("a");
  std::string path;
  for (int i = 0; path.size() < 2000; ++i) path += std::to_string(i * 7919) + "/";
  article.set_url("https://news.example/" + path);
  EXPECT_EQ(UpsertOne(article).outcome(), v1::UPSERT_OUTCOME_CREATED);
}

// The same thousand articles from several writers at once, in different orders, some with the same
// pages: no deadlock, no error, each page once.
TEST_F(ArticleUpserts, EndsInOneArticleAPageWhoeverWritesAtOnce) {
  constexpr int kWriters = 4;
  std::vector<v1::Article> articles;
  for (int i = 0; i < 200; ++i) {
    articles.push_back(Make("a" + std::to_string(i)));
    articles.back().set_url("https://news.example/" + std::to_string(i % 150));
  }
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      std::vector<v1::Article> mine = articles;
      std::rotate(mine.begin(), mine.begin() + writer * 50, mine.end());
      for (size_t begin = 0; begin < mine.size(); begin += 40) {
        const auto response = Upsert({mine.begin() + static_cast<std::ptrdiff_t>(begin),
                                      mine.begin() + static_cast<std::ptrdiff_t>(begin + 40)});
        for (const auto& result : response.results()) EXPECT_TRUE(result.has_upserted());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.news_articles"), 150);
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.article_aliases"), 50);
  EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.feed_entries"), 300);
  EXPECT_EQ(Scroll(Feed("", 7)).size(), 150u);
  EXPECT_EQ(
      Count("SELECT head - count(*) FROM newsfeed.log_streams, newsfeed.feed_log GROUP BY head"), 0)
      << "each position of the log is one change";
}

}  // namespace
}  // namespace winnow::newsfeed
