#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// Long scrolls, and what goes wrong in naive ones on the same data.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class LongScroll : public NewsFeedTest {
 protected:
  // Articles by SQL, oldest first, as upserts write them; `per_minute` share a time.
  void Insert(int articles, int per_minute) {
    Upsert({Make("seed")});  // the log begins, in this database's epoch
    ASSERT_TRUE(Delete("seed").ok());
    const std::string count = std::to_string(articles);
    Execute(
        "INSERT INTO newsfeed.news_articles (namespace, id, number, url, canonical_url, title, "
        "snippet, source, source_name, source_icon_url, thumbnail_url, video_url, category, "
        "categories, category_rules, category_scores, keywords, ai_tags, language, published_at, "
        "raw_published_at, first_published_at, published_at_clamped, created_at, updated_at, "
        "revision, sent_hash) SELECT 'default', 'n' || i, i + 10, '', '', 'Title ' || i, '', "
        "'outlet', '', '', '', '', 'uncategorized', '{}', '{}', '{}', '{}', '{}', 'ko', t, t, t, "
        "FALSE, t, t, 1, md5(i::text)::uuid FROM (SELECT i, timestamptz '2020-01-01' + (i / " +
        std::to_string(per_minute) + ") * interval '1 minute' AS t FROM generate_series(1, " +
        count + ") AS i) g");
    Execute(
        "INSERT INTO newsfeed.feed_entries (feed, publish_time, id, seq, article_number, source, "
        "language, has_image) SELECT 'default/all', published_at, id, number, number, source, "
        "language, FALSE FROM newsfeed.news_articles WHERE NOT is_deleted");
    Execute("UPDATE newsfeed.log_streams SET head = 10 + " + count + " WHERE stream = 'feeds'");
  }
};

// The ordinary proof; ./x bench newsfeed has longer ones. WINNOW_SCROLL_ARTICLES sizes it.
TEST_F(LongScroll, IsExactlyOnceThroughCacheExpiryAndInserts) {
  const char* sized = std::getenv("WINNOW_SCROLL_ARTICLES");
  const int articles = sized != nullptr ? std::atoi(sized) : 100'000;
  Insert(articles, 7);
  memory_worker_.Start();
  std::mt19937 random(5);
  std::vector<bool> seen(static_cast<size_t>(articles) + 1);
  int shown = 0;
  int deleted_ahead = 0;
  v1::ListArticlesRequest request = Feed("", 100);
  for (int page_number = 0;; ++page_number) {
    const v1::ListArticlesResponse page = List(request);
    for (const std::string& id : IdsOf(page)) {
      ASSERT_EQ(id[0], 'n') << "came after the scroll began: " << id;
      const size_t number = static_cast<size_t>(std::atoi(id.c_str() + 1));
      ASSERT_FALSE(seen[number]) << "twice: " << id;
      seen[number] = true;
      ++shown;
    }
    if (page.next_page_token().empty()) break;
    ASSERT_EQ(page.articles_size(), 100) << "short before the end";
    request.set_page_token(page.next_page_token());
    if (page_number % 40 == 3) memory_.Clear(0);  // as if the process had started again
    if (page_number % 25 == 4) {
      Upsert({Make("later" + std::to_string(page_number), minutes(random() % 3'000'000))});
    }
    if (page_number % 50 == 5) {
      const size_t victim = random() % static_cast<size_t>(articles) + 1;
      if (!seen[victim]) ++deleted_ahead;
      seen[victim] = true;  // must not come any more
      ASSERT_TRUE(Delete("n" + std::to_string(victim)).ok());
    }
  }
  EXPECT_EQ(shown + deleted_ahead, articles);
}

// Control: on the same articles the published ms cursor (max = cursor - 1) loses those that share
// a time across the edge of a page; and the cursor that is split at its last underscore misreads.
TEST_F(LongScroll, ACursorOfMillisecondsAloneLosesTies) {
  constexpr int kArticles = 3'000;
  Insert(kArticles, 3);
  FeedQuery query;
  query.category = "all";
  query.page_size = 10;
  int shown = 0;
  while (true) {
    const auto page = feeds_.ListArticles(Soon(), query);
    ASSERT_TRUE(page.ok()) << page.status();
    if (page->articles.empty()) break;
    shown += static_cast<int>(page->articles.size());
    query.position.before = FeedKey{page->articles.back().publish_time, ""};  // below the time
  }
  EXPECT_LT(shown, kArticles * 96 / 100) << "the control must lose more than 4 %";
  EXPECT_EQ(Scroll(Feed("", 10)).size(), size_t{kArticles});
}

TEST_F(LongScroll, ColdReadersOfOneFeedFillItOnce) {
  Insert(500, 3);
  memory_worker_.Start();
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([this] {
      for (int k = 0; k < 100; ++k) EXPECT_EQ(List(Feed("", 20)).articles_size(), 20);
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(test::Eventually(
      [&] { return List(Feed("", 20)).meta().tiers(0).tier() == v1::TIER_MEMORY; }));
  EXPECT_THAT(metrics_.Render(),
              ::testing::HasSubstr("winnow_newsfeed_memory_fills_total{result=\"ok\"} 1"));
}

}  // namespace
}  // namespace winnow::newsfeed
