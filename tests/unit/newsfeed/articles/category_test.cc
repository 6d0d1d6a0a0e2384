#include "services/newsfeed/articles/category.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/newsfeed/feed/feed_membership.h"

namespace winnow::newsfeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Category Valid() {
  Category category;
  category.id = "ai";
  category.display_name = "AI";
  return category;
}

std::vector<std::string> FieldsOf(const Category& category) {
  Violations violations;
  Validate(category, "category.", violations);
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) fields.push_back(violation.field);
  return fields;
}

TEST(CategoryRules, ListEveryViolationAtOnce) {
  EXPECT_THAT(FieldsOf(Valid()), IsEmpty());
  Category category;
  category.ns = "No";
  category.parent_id = "NO";
  EXPECT_THAT(FieldsOf(category), ElementsAre("category.namespace", "category.id",
                                              "category.parent_id", "category.display_name"));
  category = Valid();
  category.display_name = std::string(201, 'x');
  EXPECT_THAT(FieldsOf(category), ElementsAre("category.display_name"));
}

TEST(CategoryRules, KeepTheNamesOfBuiltInFeeds) {
  for (const char* id : {"all", "uncategorized"}) {
    Category category = Valid();
    category.id = id;
    EXPECT_THAT(FieldsOf(category), ElementsAre("category.id"));
  }
}

TEST(CategoryTree, RefusesACycle) {
  Category category = Valid();
  category.parent_id = "ai";
  EXPECT_THAT(FieldsOf(category), ElementsAre("category.parent_id"));
  const auto path = PathBelow({"tech", "ai", "llm"}, "ai", "category.parent_id");
  EXPECT_EQ(path.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(path.status()), HasSubstr("\"ai\" is above \"llm\""));
}

TEST(CategoryTree, HasEightLevels) {
  std::vector<std::string> path;
  for (int level = 1; level <= 8; ++level) {
    const auto below = PathBelow(path, "c" + std::to_string(level), "category.parent_id");
    ASSERT_TRUE(below.ok()) << level;
    path = *below;
  }
  const auto ninth = PathBelow(path, "c9", "category.parent_id");
  EXPECT_EQ(ninth.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ViolationsOf(ninth.status())[0].field, "category.parent_id");
}

TEST(Feeds, AreEachCategoryItsAncestorsAndAll) {
  const CategoryPaths paths = {{"ai", {"tech", "ai"}}, {"chips", {"tech", "chips"}}};
  EXPECT_THAT(FeedsOf("default", {"ai", "chips"}, paths),
              ElementsAre("default/ai", "default/all", "default/chips", "default/tech"));
}

TEST(Feeds, WithoutACategoryAreAllAndUncategorized) {
  EXPECT_THAT(FeedsOf("n", {}, {}), ElementsAre("n/all", "n/uncategorized"));
}

StoredArticle In(const std::vector<std::string>& categories) {
  StoredArticle article;
  for (const std::string& id : categories) article.content.categories.push_back({.id = id});
  return article;
}

// Of an article that is where its categories put it.
FeedChange Diff(const Edit& edit, const CategoryPaths& paths) {
  return DiffFeeds(edit, FeedsOf(edit.before, paths), paths);
}

TEST(Feeds, OfAnEditAreEnteredLeftOrKept) {
  const CategoryPaths paths = {
      {"ai", {"tech", "ai"}}, {"chips", {"tech", "chips"}}, {"energy", {"energy"}}};
  FeedChange change = Diff({In({"ai", "energy"}), In({"chips"})}, paths);
  EXPECT_THAT(change.entered, ElementsAre("default/chips"));
  EXPECT_THAT(change.left, ElementsAre("default/ai", "default/energy"));
  EXPECT_THAT(change.refreshed, IsEmpty()) << "an ancestor's entry survives moves inside it";

  StoredArticle with_image = In({"ai"});
  with_image.content.thumbnail_url = "https://img.example/1";
  change = Diff({In({"ai"}), with_image}, paths);
  EXPECT_THAT(change.entered, IsEmpty());
  EXPECT_THAT(change.refreshed, ElementsAre("default/ai", "default/all", "default/tech"));
}

TEST(Feeds, ThatAnArticleIsInDecideNotThoseItShouldHaveBeenIn) {
  const CategoryPaths moved = {{"ai", {"science", "ai"}}};
  const FeedChange change =
      DiffFeeds({In({"ai"}), In({"ai"})}, {"default/ai", "default/all", "default/tech"}, moved);
  EXPECT_THAT(change.entered, ElementsAre("default/science"));
  EXPECT_THAT(change.left, ElementsAre("default/tech"));
}

TEST(Etags, DifferByRevisionAndByCategory) {
  Category category;
  category.id = "ai";
  const std::string first = EtagOf(category, 1);
  EXPECT_NE(first, EtagOf(category, 2));
  category.create_time += std::chrono::seconds(1);
  EXPECT_NE(first, EtagOf(category, 1)) << "another of that name";
}

TEST(Feeds, DoNotShowADeletedArticle) {
  StoredArticle gone = In({});
  gone.delete_time = Time();
  EXPECT_THAT(FeedsOf(gone, {}), IsEmpty());
}

TEST(Slugs, AreASourcesCategoriesWrittenAsIds) {
  EXPECT_EQ(ToSlug("Politics"), "politics");
  EXPECT_EQ(ToSlug(" Science & Tech "), "science-tech");
  EXPECT_EQ(ToSlug("_all_"), "all");
  EXPECT_EQ(ToSlug("IT\xEA\xB3\xBC\xED\x95\x99"), "") << "half of a name is another name";
  EXPECT_EQ(ToSlug("!?"), "");
  EXPECT_EQ(ToSlug(std::string(65, 'a')), "");
}

}  // namespace
}  // namespace winnow::newsfeed
