#include "services/newsfeed/articles/upsert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/platform/base/timestamp.h"

namespace winnow::newsfeed {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const Time kNow = *ParseTime("2026-02-02T00:00:00Z");
const Time kLatest = kNow + std::chrono::minutes(10);

Article Make(const std::string& id, const std::string& page, const std::string& title = "T") {
  Article article;
  article.id = id;
  article.url = page;
  article.canonical_url = page;
  article.title = title;
  article.source = "s";
  article.publish_time = kNow - std::chrono::hours(1);
  return article;
}

// Keeps what plans leave behind, as the store does.
class World {
 public:
  UpsertPlan Send(const std::vector<Article>& articles) {
    std::vector<Sent> sent;
    for (size_t i = 0; i < articles.size(); ++i) {
      bool repeats = false;
      for (size_t j = 0; j < i; ++j) repeats |= articles[j].id == articles[i].id;
      sent.push_back({&articles[i], "articles[" + std::to_string(i) + "].", repeats});
    }
    UpsertPlan plan = PlanUpserts(sent, known, kLatest, kNow);
    Apply(plan);
    return plan;
  }

  void Apply(const UpsertPlan& plan) {
    for (const StoredArticle& created : plan.created) {
      EXPECT_TRUE(known.articles.emplace(KeyOf(created), created).second);
    }
    for (const Edit& edit : plan.edited) {
      EXPECT_EQ(known.articles.at(KeyOf(edit.before)), edit.before);
      known.articles.at(KeyOf(edit.after)) = edit.after;
    }
    for (const auto& [key, alias] : plan.aliases) known.aliases[key] = alias;
    known.ids_by_url.clear();
    for (const auto& [key, stored] : known.articles) {
      const std::string& url = stored.content.canonical_url;
      if (url.empty()) continue;
      EXPECT_TRUE(known.ids_by_url.emplace(ArticleKey{key.first, url}, key.second).second)
          << "two articles of one URL";
    }
  }

  static ArticleKey KeyOf(const StoredArticle& stored) {
    return {stored.content.ns, stored.content.id};
  }

  Known known;
};

const Upserted& Only(const UpsertPlan& plan) {
  EXPECT_THAT(plan.results, SizeIs(1));
  EXPECT_TRUE(plan.results[0].ok()) << plan.results[0].status();
  return *plan.results[0];
}

TEST(Upserts, CreateThenChangeNothing) {
  World world;
  EXPECT_EQ(Only(world.Send({Make("a", "u")})).outcome, UpsertOutcome::kCreated);
  const UpsertPlan again = world.Send({Make("a", "u")});
  EXPECT_EQ(Only(again).outcome, UpsertOutcome::kUnchanged);
  EXPECT_THAT(again.created, IsEmpty());
  EXPECT_THAT(again.edited, IsEmpty());
  EXPECT_THAT(again.seen, ElementsAre(ArticleKey{"default", "a"}));
}

TEST(Upserts, OfAnotherIdWithTheSameUrlAreMerged) {
  World world;
  world.Send({Make("a", "u")});
  Article other = Make("b", "u");
  other.snippet = "lead";
  const UpsertPlan plan = world.Send({other});
  EXPECT_EQ(Only(plan).outcome, UpsertOutcome::kMerged);
  EXPECT_EQ(Only(plan).id, "a");
  EXPECT_EQ(Only(plan).revision, 2);
  EXPECT_THAT(plan.new_aliases, ElementsAre(ArticleKey{"default", "b"}));
  const UpsertPlan again = world.Send({other});
  EXPECT_EQ(Only(again).outcome, UpsertOutcome::kMerged);
  EXPECT_EQ(Only(again).revision, 2);
  EXPECT_THAT(again.edited, IsEmpty());
  EXPECT_THAT(again.new_aliases, IsEmpty());
  EXPECT_THAT(again.aliases, IsEmpty());
}

TEST(Upserts, ThatAreReplayedNeverUndoAMerge) {
  World world;
  world.Send({Make("a", "u")});
  Article other = Make("b", "u");
  other.snippet = "lead";
  world.Send({other});
  EXPECT_EQ(Only(world.Send({Make("a", "u")})).outcome, UpsertOutcome::kUnchanged);
  EXPECT_EQ(world.known.articles.at({"default", "a"}).content.snippet, "lead");
}

TEST(Upserts, OfAMergedIdGoOnMergingWhateverItsUrlIsNow) {
  World world;
  world.Send({Make("a", "u"), Make("b", "u")});
  const UpsertPlan plan = world.Send({Make("b", "v")});
  EXPECT_EQ(Only(plan).id, "a");
  EXPECT_THAT(world.known.articles, SizeIs(1));
}

TEST(Upserts, WithinABatchMeetAsThoseOfDifferentBatches) {
  World world;
  const UpsertPlan plan = world.Send({Make("a", "u"), Make("b", "u"), Make("a", "u", "T2")});
  ASSERT_THAT(plan.results, SizeIs(3));
  EXPECT_EQ(plan.results[0]->outcome, UpsertOutcome::kCreated);
  EXPECT_EQ(plan.results[1]->outcome, UpsertOutcome::kMerged);
  EXPECT_EQ(plan.results[1]->id, "a");
  EXPECT_EQ(plan.results[2]->outcome, UpsertOutcome::kUnchanged) << "the first headline stays";
  EXPECT_THAT(plan.created, SizeIs(1));
  EXPECT_THAT(plan.edited, IsEmpty());
}

TEST(Upserts, AreRefusedAUrlThatAnotherArticleHas) {
  World world;
  world.Send({Make("a", "u"), Make("b", "v")});
  const UpsertPlan plan = world.Send({Make("b", "u"), Make("c", "w")});
  EXPECT_EQ(plan.results[0].status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(MetadataOf(plan.results[0].status()), Contains(Pair("id", "a")));
  EXPECT_THAT(Message(plan.results[0].status()), HasSubstr("article \"a\""));
  EXPECT_TRUE(plan.results[1].ok()) << "articles fail alone";
}

TEST(Upserts, ThatAreRefusedForTheirRevisionLeaveNoTrace) {
  World world;
  world.Send({Make("a", "u")});
  const std::vector<Article> articles = {Make("a", "v"), Make("b", "u", "T2"), Make("c", "w")};
  std::vector<Sent> sent;
  for (const Article& article : articles) sent.push_back({&article, "", false, 9});
  const UpsertPlan plan = PlanUpserts(sent, world.known, kLatest, kNow);
  for (const auto& result : plan.results) {
    EXPECT_EQ(ReasonOf(result.status()), Reason::kStaleEtag) << result.status();
  }
  EXPECT_THAT(plan.created, IsEmpty());
  EXPECT_THAT(plan.edited, IsEmpty());
  EXPECT_THAT(plan.aliases, IsEmpty());
  EXPECT_THAT(plan.new_aliases, IsEmpty());
}

TEST(Upserts, FreeTheUrlThatAnArticleHadBefore) {
  World world;
  world.Send({Make("a", "u")});
  const UpsertPlan plan = world.Send({Make("a", "v"), Make("b", "u")});
  EXPECT_EQ(plan.results[0]->outcome, UpsertOutcome::kUpdated);
  EXPECT_EQ(plan.results[1]->outcome, UpsertOutcome::kCreated);
}

TEST(Upserts, NameEveryCategoryThatDoesNotExist) {
  World world;
  world.known.paths["default"] = {{"ai", {"ai"}}};
  Article article = Make("a", "u");
  article.categories = {{.id = "ai"}, {.id = "x"}, {.id = "y"}};
  const UpsertPlan plan = world.Send({article});
  const auto violations = ViolationsOf(plan.results[0].status());
  ASSERT_THAT(violations, SizeIs(2));
  EXPECT_EQ(violations[0].field, "articles[0].categories[1].category_id");
  EXPECT_EQ(violations[1].field, "articles[0].categories[2].category_id");
  EXPECT_THAT(plan.created, IsEmpty());
}

TEST(Upserts, KeepADeletedArticleDeleted) {
  World world;
  world.Send({Make("a", "u")});
  world.known.articles.at({"default", "a"}).delete_time = kNow;
  const UpsertPlan plan = world.Send({Make("a", "u", "T2"), Make("b", "u")});
  EXPECT_EQ(plan.results[0]->outcome, UpsertOutcome::kUpdated);
  EXPECT_EQ(plan.results[1]->outcome, UpsertOutcome::kMerged);
  EXPECT_EQ(world.known.articles.at({"default", "a"}).delete_time, kNow);
}

TEST(Upserts, WithoutAUrlNeverMeet) {
  World world;
  const UpsertPlan plan = world.Send({Make("a", ""), Make("b", "")});
  EXPECT_THAT(plan.created, SizeIs(2));
}

// However a history is cut into batches, and whatever is delivered again, each page has one
// article, each id leads to one, and revisions only grow.
TEST(Upserts, EndInOneArticleForEachPageHoweverTheyAreBatched) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    World world;
    std::vector<Article> history;
    std::map<ArticleKey, int64_t> revisions;
    for (int step = 0; step < 12; ++step) {
      std::vector<Article> batch;
      for (size_t n = 1 + random() % 5; n > 0; --n) {
        if (!history.empty() && random() % 3 == 0) {
          batch.push_back(history[random() % history.size()]);
        } else {
          batch.push_back(Make("i" + std::to_string(random() % 9),
                               "u" + std::to_string(random() % 6),
                               "t" + std::to_string(random() % 3)));
        }
        history.push_back(batch.back());
      }
      const UpsertPlan plan = world.Send(batch);
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!plan.results[i].ok()) continue;
        const Upserted& result = *plan.results[i];
        const StoredArticle& stored = world.known.articles.at({"default", result.id});
        ASSERT_LE(result.revision, stored.revision);
        ASSERT_TRUE(result.id == batch[i].id ||
                    world.known.aliases.at({"default", batch[i].id}).article_id == result.id);
      }
      for (const auto& [key, stored] : world.known.articles) {
        ASSERT_GE(stored.revision, revisions[key]);
        revisions[key] = stored.revision;
        ASSERT_FALSE(world.known.aliases.contains(key)) << "an id is an article or an alias";
      }
    }
  }
}

}  // namespace
}  // namespace winnow::newsfeed
