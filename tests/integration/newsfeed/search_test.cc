#include <random>

#include "services/newsfeed/search/search_terms.h"
#include "services/newsfeed/search/word_merge_worker.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/postgres/plans.h"
#include "tests/support/sync/eventually.h"

// Articles found by their texts.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Searching : public NewsFeedTest {
 protected:
  v1::Article Titled(const std::string& id, int age, const std::string& title,
                     const std::string& snippet = "") const {
    v1::Article article = Make(id, minutes(age));
    article.set_title(title);
    article.set_snippet(snippet);
    return article;
  }

  std::vector<std::string> Search(const std::string& query, int page_size = 20) {
    v1::SearchArticlesRequest request;
    request.set_query(query);
    request.set_page_size(page_size);
    std::vector<std::string> ids;
    do {
      const auto page = feed_handlers_.SearchArticles(Call(), request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      for (const v1::Article& article : page->articles()) ids.push_back(article.id());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return ids;
  }
};

TEST_F(Searching, FindsByTitleAndSnippetNewestFirst) {
  Upsert({Titled("a", 3, "원자력 발전소 재가동"), Titled("b", 1, "Solar power", "태양광과 원자력"),
          Titled("c", 2, "Every event")});
  EXPECT_THAT(Search("자력"), ElementsAre("b", "a"));
  EXPECT_THAT(Search("원자력 solar"), ElementsAre("b"));
  EXPECT_THAT(Search("ev"), IsEmpty());
  EXPECT_THAT(Search("EVENT", 1), ElementsAre("c"));
}

TEST_F(Searching, FollowsEditsDeletionsAndReturns) {
  Upsert({Titled("a", 1, "태양광"), Titled("b", 2, "태양광")});
  UpsertOne(Titled("a", 1, "풍력"));
  EXPECT_THAT(Search("태양"), ElementsAre("b"));
  EXPECT_THAT(Search("풍력"), ElementsAre("a"));
  ASSERT_TRUE(Delete("b").ok());
  EXPECT_THAT(Search("태양"), IsEmpty());
  v1::UndeleteArticleRequest request;
  request.set_id("b");
  ASSERT_TRUE(article_handlers_.UndeleteArticle(Call(), request).ok());
  EXPECT_THAT(Search("태양광"), ElementsAre("b"));
}

TEST_F(Searching, StaysInItsNamespace) {
  v1::Article other = Titled("o", 1, "태양광");
  other.set_namespace_("other");
  Upsert({Titled("a", 1, "태양광"), other});
  EXPECT_THAT(Search("태양"), ElementsAre("a"));
}

// 300 titles of few characters: many that have the pairs of a term, but not the term.
TEST_F(Searching, EqualsGoingThroughAll) {
  const char* characters[] = {"가", "나", "다", "라", " "};
  std::mt19937 random(7);
  const auto text = [&](int size) {
    std::string made = "가";
    for (int i = 1; i < size; ++i) made += characters[random() % 5];
    return made;
  };
  std::vector<v1::Article> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(Titled("n" + std::to_string(100 + i), i, text(8), i % 3 == 0 ? text(8) : ""));
  }
  Upsert(all);
  for (int round = 0; round < 30; ++round) {
    const std::string query = text(2 + round % 3) + (round % 4 == 0 ? " " + text(2) : "");
    const auto terms = ParseSearch(query);
    if (!terms.ok()) continue;
    std::vector<std::string> expected;
    for (const v1::Article& article : all) {
      if (HasTerms(*terms, article.title(), article.snippet())) expected.push_back(article.id());
    }
    EXPECT_THAT(Search(query, 1 + round % 5 * 9), ElementsAreArray(expected)) << query;
  }
}

TEST_F(Searching, RefusesTokensOfOtherSearches) {
  Upsert({Titled("a", 1, "태양광"), Titled("b", 2, "태양광")});
  v1::SearchArticlesRequest request;
  request.set_query("태양");
  request.set_page_size(1);
  request.set_page_token(feed_handlers_.SearchArticles(Call(), request)->next_page_token());
  EXPECT_TRUE(feed_handlers_.SearchArticles(Call(), request).ok());
  request.set_query("양광");
  EXPECT_EQ(ReasonOf(feed_handlers_.SearchArticles(Call(), request).status()),
            Reason::kInvalidPageToken);
  request.set_query("가");
  request.set_page_size(-1);
  EXPECT_EQ(ViolationsOf(feed_handlers_.SearchArticles(Call(), request).status()).size(), 2u);
}

TEST_F(Searching, MergesWordsBehindThoseWhoStore) {
  WordMergeWorker worker(search_, last_commit_, metrics_);
  worker.Start();
  Upsert({Titled("a", 1, "태양광"), Titled("b", 2, "태양광과 풍력")});
  EXPECT_TRUE(test::Eventually([&] {
    return metrics_.Render().find("search_merged_pages_total 0\n") == std::string::npos;
  }));
  worker.Stop();
  const auto waiting = search_.MergeWords(Soon());
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  EXPECT_EQ(*waiting, 0);
  EXPECT_THAT(Search("태양"), ElementsAre("a", "b"));
}

TEST_F(Searching, GoesOnWhereWordsCannotBeMerged) {
  Execute("DROP INDEX newsfeed.article_search_grams");
  WordMergeWorker worker(search_, last_commit_, metrics_);
  worker.Start();
  Upsert({Titled("a", 1, "태양광")});
  EXPECT_TRUE(test::Eventually([&] {
    return metrics_.Render().find("search_merge_failures_total 1\n") != std::string::npos;
  }));
  EXPECT_THAT(Search("태양"), ElementsAre("a"));
}

TEST_F(Searching, IsPlannedByIndex) {
  pg::Pool one{{.name = "one", .url = url_, .connections = 1}, metrics_};
  SearchStore store{one, writes_, metrics_};
  SearchQuery query;
  query.terms = {"태양"};
  ASSERT_TRUE(store.Search(Soon(), query).ok());
  const auto plans = test::KeptPlans(one);
  ASSERT_TRUE(plans.contains("newsfeed.search_by_grams"));
  for (const char* name : {"newsfeed.search_by_key", "newsfeed.search_by_grams"}) {
    EXPECT_THAT(plans.at(name), Not(HasSubstr("Seq Scan on article_search"))) << plans.at(name);
    EXPECT_THAT(plans.at(name), Not(HasSubstr("Seq Scan on news_articles"))) << plans.at(name);
  }
}

}  // namespace
}  // namespace winnow::newsfeed
