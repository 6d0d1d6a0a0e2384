#include "services/platform/proto/timestamp.h"
#include "tests/integration/newsfeed/fixture.h"

namespace winnow::newsfeed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CategoryStore : public NewsFeedTest {
 protected:
  StatusOr<v1::CreateCategoryResponse> TryCreate(const std::string& id, const std::string& parent,
                                                 const std::string& name = "name") {
    v1::CreateCategoryRequest request;
    request.mutable_category()->set_id(id);
    request.mutable_category()->set_display_name(name);
    request.mutable_category()->set_parent_id(parent);
    return category_handlers_.CreateCategory(Call(), request);
  }

  std::vector<std::string> ListAll(int page_size, const std::string& ns = "") {
    std::vector<std::string> ids;
    v1::ListCategoriesRequest request;
    request.set_namespace_(ns);
    request.set_page_size(page_size);
    do {
      const auto page = category_handlers_.ListCategories(Call(), request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      for (const v1::Category& category : page->categories()) ids.push_back(category.id());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return ids;
  }
};

TEST_F(CategoryStore, KeepsThePathFromTheRoot) {
  Create("tech");
  Create("ai", "tech");
  const v1::Category llm = Create("llm", "ai");
  EXPECT_THAT(llm.path(), ElementsAre("tech", "ai", "llm"));
  EXPECT_EQ(llm.namespace_(), "default");
  EXPECT_TRUE(llm.has_create_time());
  EXPECT_EQ(*FromTimestamp(llm.update_time()), *FromTimestamp(llm.create_time()));
}

TEST_F(CategoryStore, AnswersOneThatIsThereAsItIs) {
  Create("tech");
  const v1::Category first = Create("ai", "tech");
  EXPECT_EQ(Create("ai", "tech").DebugString(), first.DebugString());
}

TEST_F(CategoryStore, ListsEachBeforeThoseBelowItPageByPage) {
  Create("b");
  Create("a-b");
  Create("a");
  Create("z", "a");
  Create("c", "z");
  Create("a0", "b");
  for (const int page_size : {0, 1, 2, 4, 6}) {
    EXPECT_THAT(ListAll(page_size), ElementsAre("a", "z", "c", "a-b", "b", "a0")) << page_size;
  }
  EXPECT_THAT(ListAll(0, "other"), IsEmpty());
}

TEST_F(CategoryStore, RefusesWhatIsThereOrHasNoParent) {
  Create("a");
  Create("c");
  EXPECT_EQ(TryCreate("a", "", "A").status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(TryCreate("a", "c", "a").status().code(), StatusCode::kAlreadyExists);
  Create("below", "a");
  EXPECT_EQ(TryCreate("a", "below", "a").status().code(), StatusCode::kAlreadyExists);
  const auto orphan = TryCreate("b", "nowhere");
  EXPECT_EQ(orphan.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(orphan.status()), HasSubstr("nowhere"));
  EXPECT_EQ(TryCreate("b", "b").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TryCreate("all", "").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(category_handlers_.CreateCategory(Call(), {}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(CategoryStore, HasEightLevels) {
  std::string parent;
  for (int level = 1; level <= 8; ++level) {
    const std::string id = "c" + std::to_string(level);
    Create(id, parent);
    parent = id;
  }
  const auto ninth = TryCreate("c9", parent);
  EXPECT_EQ(ViolationsOf(ninth.status()).at(0).field, "category.parent_id");
}

TEST_F(CategoryStore, RefusesTokensThatAreNotItsOwn) {
  Create("a");
  Create("b");
  v1::ListCategoriesRequest request;
  request.set_page_size(1);
  const std::string token = category_handlers_.ListCategories(Call(), request)->next_page_token();
  request.set_page_token(token);
  request.set_namespace_("other");
  EXPECT_EQ(ReasonOf(category_handlers_.ListCategories(Call(), request).status()),
            Reason::kInvalidPageToken);
  request.set_namespace_("");
  request.set_page_token("1_a");
  EXPECT_EQ(ReasonOf(category_handlers_.ListCategories(Call(), request).status()),
            Reason::kInvalidPageToken);
}

}  // namespace
}  // namespace winnow::newsfeed
