#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// Many articles at once, by URL, in streams; and those that come back.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Verbs : public NewsFeedTest {
 protected:
  StatusOr<v1::Article> Look(const std::string& url) {
    v1::LookupArticleRequest request;
    request.set_url(url);
    WINNOW_ASSIGN_OR_RETURN(auto response, article_handlers_.LookupArticle(Call(), request));
    return response.article();
  }

  StatusOr<v1::Article> Undelete(const std::string& id) {
    v1::UndeleteArticleRequest request;
    request.set_id(id);
    WINNOW_ASSIGN_OR_RETURN(auto response, article_handlers_.UndeleteArticle(Call(), request));
    return response.article();
  }
};

TEST_F(Verbs, GetManyEachAlone) {
  Upsert({Make("a"), Make("b"), Make("gone")});
  v1::Article merged = Make("alias");
  merged.set_url("https://m.news.example/a?utm_source=x");
  ASSERT_EQ(UpsertOne(merged).id(), "a");
  ASSERT_TRUE(Delete("gone").ok());
  v1::BatchGetArticlesRequest request;
  for (const char* id : {"b", "gone", "no id!", "alias", "unknown", "b"}) request.add_ids(id);
  const auto response = article_handlers_.BatchGetArticles(Call(), request);
  ASSERT_TRUE(response.ok()) << response.status();
  std::vector<std::string> got;
  for (const v1::GetArticleResult& result : response->results()) {
    got.push_back(result.has_article() ? result.article().id()
                                       : std::to_string(result.error().code()));
  }
  EXPECT_THAT(got, ElementsAre("b", "5", "3", "a", "5", "b"));
  EXPECT_FALSE(article_handlers_.BatchGetArticles(Call(), {}).ok());
  request.clear_ids();
  for (int i = 0; i <= 1000; ++i) request.add_ids("a");
  EXPECT_EQ(ViolationsOf(article_handlers_.BatchGetArticles(Call(), request).status())[0].field,
            "ids");
}

TEST_F(Verbs, LookUpByAnyFormOfTheUrl) {
  Upsert({Make("a")});
  EXPECT_EQ(Look("https://news.example/a")->id(), "a");
  EXPECT_EQ(Look("http://www.news.example:80/a?utm_source=x&fbclid=1#top")->id(), "a");
  EXPECT_EQ(Look("https://news.example/b").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ViolationsOf(Look("nonsense").status())[0].field, "url");
  EXPECT_EQ(ViolationsOf(Look("https://x.example/" + std::string(2048, 'x')).status())[0].field,
            "url");
  ASSERT_TRUE(Delete("a").ok());
  EXPECT_EQ(Look("https://news.example/a").status().code(), StatusCode::kNotFound);
}

TEST_F(Verbs, IngestAnswersEachInOrder) {
  std::vector<v1::IngestArticlesRequest> requests(4);
  *requests[0].mutable_article() = Make("a");
  requests[1].mutable_article()->set_id("no title");
  *requests[3].mutable_article() = Make("a");
  const auto responses = article_handlers_.IngestArticles(Call(), requests);
  ASSERT_TRUE(responses.ok()) << responses.status();
  ASSERT_EQ(responses->size(), 4u);
  EXPECT_EQ((*responses)[0].result().upserted().outcome(), v1::UPSERT_OUTCOME_CREATED);
  EXPECT_EQ((*responses)[1].result().error().code(), 3);
  EXPECT_EQ((*responses)[2].result().error().code(), 3) << "no article at all";
  EXPECT_EQ((*responses)[3].result().upserted().outcome(), v1::UPSERT_OUTCOME_UNCHANGED);
}

TEST_F(Verbs, AnUndeletedArticleIsNewInItsFeeds) {
  Create("ai");
  v1::Article article = Make("b", minutes(1), {"ai"});
  article.add_keywords("solar");
  Upsert({Make("a"), article, Make("c", minutes(2))});
  ASSERT_TRUE(Delete("b").ok());
  const v1::ListArticlesResponse before = List(Feed("", 1));
  const auto restored = Undelete("b");
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_FALSE(restored->has_delete_time());
  EXPECT_EQ(restored->revision(), 2);
  EXPECT_EQ(Get("b")->revision(), 2);
  EXPECT_THAT(Scroll(Feed("", 1)), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Scroll(Feed("", 1, before.next_page_token())), ElementsAre("c"))
      << "not in a scroll that began before";
  EXPECT_THAT(Scroll(Feed("", 1, before.newer_token())), ElementsAre("b"));
  EXPECT_THAT(Scroll(Feed("ai")), ElementsAre("b"));
  v1::ListArticlesRequest about = Feed();
  about.mutable_filter()->set_keywords("solar");
  EXPECT_THAT(Scroll(about), ElementsAre("b"));
  EXPECT_EQ(Undelete("b")->revision(), 2) << "of one that is there nothing changes";
  EXPECT_EQ(Undelete("unknown").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(Delete("b").ok());
  EXPECT_THAT(Scroll(Feed("ai")), IsEmpty());
}

TEST_F(Verbs, AnUndeletedArticleComesBackToMemory) {
  Upsert({Make("a"), Make("b", minutes(1))});
  memory_worker_.Start();
  EXPECT_TRUE(test::Eventually([&] {
    List(Feed());
    return memory_.Has("default/all");
  }));
  ASSERT_TRUE(Delete("b").ok());
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("a"));
  ASSERT_TRUE(Undelete("b").ok());
  EXPECT_THAT(IdsOf(List(Feed())), ElementsAre("a", "b"));
  EXPECT_EQ(List(Feed()).meta().tiers(0).tier(), v1::TIER_MEMORY);
}

}  // namespace
}  // namespace winnow::newsfeed
