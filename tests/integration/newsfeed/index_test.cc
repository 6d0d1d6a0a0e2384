#include "services/newsfeed/search/index_rules.h"
#include "services/newsfeed/search/index_store.h"
#include "services/newsfeed/search/index_worker.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// Articles that were stored before searches and keyword filters were there, or by other rules.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Indexing : public NewsFeedTest {
 protected:
  // n0 (newest) to n<count - 1>, each with a title and keywords of its own and some of all.
  void Fill(int count) {
    std::vector<v1::Article> articles;
    for (int i = 0; i < count; ++i) {
      v1::Article article = Make("n" + std::to_string(i), minutes(i), {"ai"});
      article.set_title("원자력 title" + std::to_string(i));
      article.add_keywords("all");
      article.add_keywords("k" + std::to_string(i));
      articles.push_back(std::move(article));
    }
    Upsert(articles);
  }

  // As if they had been stored before any of it was kept.
  void Forget() {
    Execute("DELETE FROM newsfeed.article_search");
    Execute("DELETE FROM newsfeed.article_keywords");
    Execute("UPDATE newsfeed.feed_entries SET terms = ''");
  }

  // As a version with other words for the same left them.
  void MakeOfOtherRules(const std::string& id = "%") {
    const std::string where = " WHERE id LIKE '" + id + "'";
    Execute("UPDATE newsfeed.article_search SET grams = '{1,2}', rules = 0" + where);
    Execute("UPDATE newsfeed.article_keywords SET keyword = 'old ' || keyword, signature = -1" +
            where);
    Execute(
        "UPDATE newsfeed.feed_entries e SET terms = array_to_tsvector(ARRAY(SELECT 'old ' || "
        "t.term "
        "FROM unnest(tsvector_to_array(e.terms)) AS t (term)))" +
        where);
  }

  void Continue(IndexStore& store, int64_t articles, bool done) {
    const auto step = store.Continue(Soon());
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(step->articles, articles);
    EXPECT_EQ(step->done, done);
  }

  std::vector<std::string> Search(const std::string& query) {
    v1::SearchArticlesRequest request;
    request.set_query(query);
    request.set_page_size(100);
    const auto page = feed_handlers_.SearchArticles(Call(), request);
    EXPECT_TRUE(page.ok()) << page.status();
    std::vector<std::string> ids;
    for (const v1::Article& article : page->articles()) ids.push_back(article.id());
    return ids;
  }

  std::vector<std::string> About(const std::string& keywords) {
    v1::ListArticlesRequest request = Feed("ai");
    request.mutable_filter()->set_keywords(keywords);
    return Scroll(request);
  }

  v1::IndexStatus Progress() {
    return feed_handlers_.GetFeedStatus(Call(), v1::GetFeedStatusRequest())->store().index();
  }

  // Everything as it is when articles come.
  void ExpectWhole(size_t articles) {
    EXPECT_THAT(Search("자력"), SizeIs(articles));
    EXPECT_THAT(About("all"), SizeIs(articles));
    EXPECT_THAT(About("all AND k2 AND NOT k1"), ElementsAre("n2"));
    EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.article_keywords"),
              static_cast<int64_t>(2 * articles));
    EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.article_search WHERE rules = " +
                    std::to_string(kIndexRules)),
              static_cast<int64_t>(articles));
  }
};

TEST_F(Indexing, OfArticlesFromBeforeGoesOnWhereItWasLeft) {
  Create("ai");
  Fill(7);
  ASSERT_TRUE(Delete("n5").ok());
  Forget();
  EXPECT_THAT(Search("자력"), IsEmpty());
  EXPECT_THAT(About("all"), IsEmpty());
  IndexStore first(reads_, writes_, logs_, 3, 2);
  Continue(first, 3, false);
  EXPECT_THAT(Search("자력"), SizeIs(3));
  EXPECT_FALSE(Progress().complete());
  EXPECT_EQ(Progress().position(), 3);
  IndexStore second(reads_, writes_, logs_, 3, 2);  // another process
  Continue(second, 2, false);                       // n5 is deleted
  Continue(second, 1, false);
  Continue(second, 0, true);
  EXPECT_TRUE(Progress().complete());
  EXPECT_EQ(Progress().position(), 8);
  ExpectWhole(6);
  Continue(first, 0, true);
}

TEST_F(Indexing, ByOtherRulesIsMadeAgainWithoutALeftover) {
  Create("ai");
  Fill(4);
  MakeOfOtherRules();
  Execute("INSERT INTO newsfeed.index_progress VALUES (TRUE, 0, 4, TRUE)");
  EXPECT_FALSE(Progress().complete());
  EXPECT_THAT(About("\"old all\""), SizeIs(4));
  IndexStore store(reads_, writes_, logs_);
  Continue(store, 4, false);
  Continue(store, 0, true);
  ExpectWhole(4);
  EXPECT_THAT(About("\"old all\""), IsEmpty());
}

// During an upgrade a process of the version before goes on writing what it always wrote.
TEST_F(Indexing, FindsWhatAnOlderVersionStillWrites) {
  Create("ai");
  Fill(4);
  IndexStore store(reads_, writes_, logs_);
  Continue(store, 0, false);
  Continue(store, 0, true);
  const auto write = [&](int number, const std::string& title) {
    v1::Article article = Make("n" + std::to_string(number), minutes(number), {"ai"});
    article.set_title("원자력 " + title);
    article.add_keywords("all");
    article.add_keywords("k" + std::to_string(number));
    Upsert({article});
  };
  write(1, "edited");
  write(1, "edited twice, which is one article");
  write(4, "new");
  MakeOfOtherRules("n1");
  MakeOfOtherRules("n4");
  EXPECT_THAT(Search("자력"), ElementsAre("n0", "n2", "n3"));
  Continue(store, 2, false);
  Continue(store, 0, true);
  ExpectWhole(5);
}

TEST_F(Indexing, LeavesArticlesAsTheyAre) {
  Create("ai");
  Fill(3);
  const v1::ListArticlesResponse before = List(Feed("ai"));
  const int64_t head = Count("SELECT head FROM newsfeed.log_streams");
  Forget();
  IndexStore store(reads_, writes_, logs_);
  Continue(store, 3, false);
  EXPECT_EQ(Count("SELECT head FROM newsfeed.log_streams"), head);
  const v1::ListArticlesResponse after = List(Feed("ai"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(after.articles(i).DebugString(), before.articles(i).DebugString());
  }
  EXPECT_THAT(Scroll(Feed("ai", 2, before.newer_token())), IsEmpty());
}

TEST_F(Indexing, IsLeftToALaterVersionThatIsAtWork) {
  Create("ai");
  Fill(2);
  Forget();
  Execute("INSERT INTO newsfeed.index_progress VALUES (TRUE, 99, 1, FALSE)");
  IndexStore store(reads_, writes_, logs_);
  Continue(store, 0, true);
  EXPECT_EQ(Count("SELECT rules FROM newsfeed.index_progress"), 99);
  EXPECT_THAT(Search("자력"), IsEmpty());
}

TEST_F(Indexing, IsDoneInTheBackground) {
  Create("ai");
  Fill(6);
  Forget();
  IndexStore store(reads_, writes_, logs_, 2, 2);
  IndexWorker worker(store, metrics_);
  worker.Start();
  EXPECT_TRUE(test::Eventually([&] { return Progress().complete(); }));
  ExpectWhole(6);
  worker.Stop();
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_newsfeed_index_articles_total 6"));
}

}  // namespace
}  // namespace winnow::newsfeed
