#include <set>
#include <thread>

#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/sync/eventually.h"

// Categories that are renamed, moved and deleted while articles come and readers scroll.
namespace winnow::newsfeed {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Tree : public NewsFeedTest {
 protected:
  StatusOr<v1::MoveCategoryResponse> Move(const std::string& id, const std::string& parent,
                                          const std::string& etag = "") {
    v1::MoveCategoryRequest request;
    request.set_id(id);
    request.set_parent_id(parent);
    request.set_etag(etag);
    return category_handlers_.MoveCategory(Call(), request);
  }

  StatusOr<v1::DeleteCategoryResponse> Drop(const std::string& id, bool force = false) {
    v1::DeleteCategoryRequest request;
    request.set_id(id);
    request.set_force(force);
    return category_handlers_.DeleteCategory(Call(), request);
  }

  // tech/ai and science; ten articles in ai.
  void Plant() {
    Create("tech");
    Create("ai", "tech");
    Create("science");
    std::vector<v1::Article> batch;
    for (int i = 0; i < 10; ++i) batch.push_back(Make("n" + std::to_string(i), minutes(i), {"ai"}));
    Upsert(batch);
  }

  // That every article has exactly the entries its categories say.
  void ExpectConsistent() {
    EXPECT_EQ(Count("SELECT count(*) FROM (SELECT 'default/' || unnest(c.path) AS feed, a.number "
                    "FROM newsfeed.news_articles a JOIN newsfeed.categories c "
                    "ON c.id = ANY (a.categories) WHERE NOT a.is_deleted AND NOT c.is_deleting "
                    "EXCEPT SELECT feed, article_number FROM newsfeed.feed_entries) missing"),
              0);
    EXPECT_EQ(Count("SELECT count(*) FROM newsfeed.feed_entries e WHERE e.feed NOT IN "
                    "('default/all', 'default/uncategorized') AND NOT EXISTS "
                    "(SELECT 1 FROM newsfeed.news_articles a JOIN newsfeed.categories c "
                    "ON c.id = ANY (a.categories) WHERE a.number = e.article_number "
                    "AND NOT a.is_deleted AND e.feed = ANY (SELECT 'default/' || unnest(c.path)))"),
              0)
        << "entries that no category explains";
  }
};

TEST_F(Tree, MovesACategoryWithItsArticles) {
  Plant();
  const auto moved = Move("ai", "science");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(moved->category().path(), ElementsAre("science", "ai"));
  EXPECT_EQ(moved->moved_article_count(), 10);
  EXPECT_FALSE(moved->pending());
  EXPECT_THAT(Scroll(Feed("tech")), IsEmpty());
  EXPECT_THAT(Scroll(Feed("science", 3)), SizeIs(10));
  EXPECT_THAT(Scroll(Feed("ai", 3)), SizeIs(10));
  ExpectConsistent();
  EXPECT_EQ(Move("ai", "science")->moved_article_count(), 0) << "it is there already";
  EXPECT_EQ(Move("ai", "")->category().path_size(), 1);
  EXPECT_THAT(Scroll(Feed("science")), IsEmpty());
}

TEST_F(Tree, KeepsScrollsOfTheCategoryItselfAndTellsThoseAboveIt) {
  Plant();
  const v1::ListArticlesResponse in_ai = List(Feed("ai", 4));
  const v1::ListArticlesResponse in_tech = List(Feed("tech", 4));
  const v1::ListArticlesResponse in_science = List(Feed("science", 4));
  ASSERT_TRUE(Move("ai", "science").ok());
  EXPECT_THAT(Scroll(Feed("ai", 4, in_ai.next_page_token())), SizeIs(6));
  EXPECT_THAT(Scroll(Feed("ai", 4, in_ai.newer_token())), IsEmpty()) << "they were there before";
  const v1::ListArticlesResponse rest = List(Feed("tech", 4, in_tech.next_page_token()));
  EXPECT_THAT(IdsOf(rest), IsEmpty());
  EXPECT_TRUE(rest.meta().tree_changed());
  EXPECT_FALSE(in_tech.meta().tree_changed());
  EXPECT_THAT(Scroll(Feed("science", 4, in_science.newer_token())), SizeIs(10))
      << "new where they were not";
}

TEST_F(Tree, RefusesCirclesDepthAndStrangers) {
  Plant();
  EXPECT_EQ(Move("tech", "ai").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Move("tech", "tech").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Move("nowhere", "ai").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Move("ai", "nowhere").status().code(), StatusCode::kNotFound);
  std::string parent;
  for (int level = 1; level <= 7; ++level) {
    Create("c" + std::to_string(level), parent);
    parent = "c" + std::to_string(level);
  }
  const auto deep = Move("tech", "c7");  // ai would be at level 9
  ASSERT_EQ(ViolationsOf(deep.status()).size(), 1u) << deep.status();
  EXPECT_THAT(ViolationsOf(deep.status())[0].description, HasSubstr("level 9"));
  EXPECT_TRUE(Move("tech", "c6").ok());
  ExpectConsistent();
}

TEST_F(Tree, RenamesByMaskAndEtag) {
  Plant();
  v1::UpdateCategoryRequest request;
  request.mutable_category()->set_id("ai");
  request.mutable_category()->set_display_name("인공지능");
  EXPECT_EQ(ViolationsOf(category_handlers_.UpdateCategory(Call(), request).status())[0].field,
            "update_mask");
  request.mutable_update_mask()->add_paths("display_name");
  const auto renamed = category_handlers_.UpdateCategory(Call(), request);
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_EQ(renamed->category().display_name(), "인공지능");
  EXPECT_EQ(renamed->category().parent_id(), "tech");
  EXPECT_GT(*FromTimestamp(renamed->category().update_time()),
            *FromTimestamp(renamed->category().create_time()));
  const auto same = category_handlers_.UpdateCategory(Call(), request);
  EXPECT_EQ(same->category().etag(), renamed->category().etag()) << "asking again changes nothing";
  request.mutable_category()->set_display_name("AI");
  request.mutable_category()->set_etag("0123456789abcdef");
  EXPECT_EQ(ReasonOf(category_handlers_.UpdateCategory(Call(), request).status()),
            Reason::kStaleEtag);
  EXPECT_EQ(ReasonOf(Move("ai", "science", "0123456789abcdef").status()), Reason::kStaleEtag);
  const auto moved = Move("ai", "science", renamed->category().etag());
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_GT(*FromTimestamp(moved->category().update_time()),
            *FromTimestamp(renamed->category().update_time()));
  request.mutable_category()->clear_etag();
  request.mutable_category()->set_id("nowhere");
  EXPECT_EQ(category_handlers_.UpdateCategory(Call(), request).status().code(),
            StatusCode::kNotFound);
}

TEST_F(Tree, DeletesWhatIsEmptyAndEmptiesWhenForced) {
  Plant();
  Upsert({Make("both", minutes(3), {"ai", "science"})});
  EXPECT_EQ(Drop("tech").status().code(), StatusCode::kFailedPrecondition) << "ai is below it";
  const auto kept = Drop("ai");
  EXPECT_EQ(kept.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(kept.status()), HasSubstr("force"));
  const auto dropped = Drop("ai", true);
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(dropped->changed_article_count(), 11);
  EXPECT_THAT(Scroll(Feed("uncategorized")), SizeIs(10));
  EXPECT_THAT(Scroll(Feed("science")), ElementsAre("both"));
  EXPECT_EQ(ListWaiting(feed_handlers_, Call(), Feed("ai")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Get("n1")->categories_size(), 0);
  EXPECT_EQ(Get("n1")->revision(), 2);
  EXPECT_EQ(Drop("ai").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Drop("tech").ok());
  ExpectConsistent();
  EXPECT_EQ(Create("ai").path_size(), 1) << "the name is free again";
}

TEST_F(Tree, FinishesWhatWasLeftHalfway) {
  Plant();
  Category category;
  category.id = "ai";
  category.parent_id = "science";
  ASSERT_TRUE(tree_.BeginMove(Soon(), category).ok());  // and the process dies here
  EXPECT_THAT(Scroll(Feed("tech")), SizeIs(10)) << "nobody has moved them yet";
  // What comes meanwhile goes where the tree says now; what goes, goes from where it was.
  Upsert({Make("new", minutes(1), {"ai"})});
  ASSERT_TRUE(Delete("n4").ok());
  UpsertOne(Make("n5", minutes(5), {"science"}));
  EXPECT_THAT(Scroll(Feed("tech")), SizeIs(8));
  tree_worker_.Start();
  EXPECT_TRUE(
      test::Eventually([&] { return Count("SELECT count(*) FROM newsfeed.tree_work") == 0; }));
  EXPECT_THAT(Scroll(Feed("tech")), IsEmpty());
  EXPECT_THAT(Scroll(Feed("science")), SizeIs(10));
  ExpectConsistent();
}

TEST_F(Tree, MovesWhileArticlesComeAndGo) {
  Plant();
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) {
      UpsertOne(Make("w" + std::to_string(i), minutes(i % 9), {i % 3 == 0 ? "ai" : "science"}));
      if (i % 4 == 3) {
        ASSERT_TRUE(Delete("w" + std::to_string(i - 2)).ok());
      }
      if (i % 5 == 4) UpsertOne(Make("n" + std::to_string(i % 10), minutes(i % 10), {"tech"}));
    }
  });
  for (int i = 0; i < 12; ++i) {
    const auto moved = Move("ai", i % 3 == 0 ? "science" : i % 3 == 1 ? "" : "tech");
    EXPECT_TRUE(moved.ok()) << moved.status();
  }
  writer.join();
  ExpectConsistent();
}

TEST_F(Tree, IsShownByMemoryAsByTheStore) {
  Plant();
  memory_worker_.Start();
  for (const char* category : {"tech", "science", "ai"}) {
    EXPECT_TRUE(test::Eventually([&] {
      List(Feed(category, 5));
      return memory_.Has(FeedName("default", category));
    }));
  }
  ASSERT_TRUE(Move("ai", "science").ok());
  EXPECT_THAT(Scroll(Feed("science", 5)), SizeIs(10));
  EXPECT_THAT(Scroll(Feed("tech", 5)), IsEmpty());
  ASSERT_TRUE(Drop("ai", true).ok());
  EXPECT_EQ(ListHot(feed_handlers_, Feed("ai")), nullptr);
  EXPECT_EQ(ListWaiting(feed_handlers_, Call(), Feed("ai")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace winnow::newsfeed
