#include "services/newsfeed/api/category_handlers.h"

#include "services/newsfeed/api/convert.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {
namespace {

constexpr char kSlugRule[] = "must be [a-z0-9-], 1 to 64 characters";

template <class Request>
Category KeyOf(const Request& request, Violations& violations) {
  Category category;
  category.ns = NamespaceOf(request.namespace_(), violations);
  category.id = request.id();
  category.etag = request.etag();
  if (!IsSlug(category.id)) violations.Add("id", kSlugRule);
  return category;
}

}  // namespace

StatusOr<v1::CreateCategoryResponse> CategoryHandlers::CreateCategory(
    const rpc::CallContext& call, const v1::CreateCategoryRequest& request) {
  if (!request.has_category()) return InvalidField("category", "is required: set the category");
  Violations violations;
  const Category category = FromProto(request.category(), "category.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Category created, parts_.tree.Create(call.deadline, category));
  return rpc::Respond(&v1::CreateCategoryResponse::mutable_category, ToProto(created));
}

StatusOr<v1::UpdateCategoryResponse> CategoryHandlers::UpdateCategory(
    const rpc::CallContext& call, const v1::UpdateCategoryRequest& request) {
  if (!request.has_category()) return InvalidField("category", "is required: set the category");
  Violations violations;
  const Category category = FromProto(request.category(), "category.", violations);
  CheckCategoryMask(request.update_mask(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Category renamed, parts_.tree.Rename(call.deadline, category));
  return rpc::Respond(&v1::UpdateCategoryResponse::mutable_category, ToProto(renamed));
}

StatusOr<v1::MoveCategoryResponse> CategoryHandlers::MoveCategory(
    const rpc::CallContext& call, const v1::MoveCategoryRequest& request) {
  Violations violations;
  Category category = KeyOf(request, violations);
  category.parent_id = request.parent_id();
  if (!category.parent_id.empty() && !IsSlug(category.parent_id)) {
    violations.Add("parent_id", kSlugRule);
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Category moved, parts_.tree.BeginMove(call.deadline, category));
  WINNOW_ASSIGN_OR_RETURN(const TreeProgress progress, Follow(call, category));
  v1::MoveCategoryResponse response;
  *response.mutable_category() = ToProto(moved);
  response.set_moved_article_count(progress.articles);
  response.set_pending(!progress.done);
  return response;
}

StatusOr<v1::DeleteCategoryResponse> CategoryHandlers::DeleteCategory(
    const rpc::CallContext& call, const v1::DeleteCategoryRequest& request) {
  Violations violations;
  const Category category = KeyOf(request, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_RETURN_IF_ERROR(parts_.tree.BeginDelete(call.deadline, category, request.force()));
  WINNOW_ASSIGN_OR_RETURN(const TreeProgress progress, Follow(call, category));
  v1::DeleteCategoryResponse response;
  response.set_changed_article_count(progress.articles);
  response.set_pending(!progress.done);
  return response;
}

// The tree has changed: its articles follow as long as the caller has time. What is left, also
// after an error, the background does.
StatusOr<TreeProgress> CategoryHandlers::Follow(const rpc::CallContext& call,
                                                const Category& category) {
  const StatusOr<TreeProgress> progress =
      parts_.tree.Continue(call.deadline, {category.ns, category.id});
  if (!progress.ok() || !progress->done) parts_.tree_worker.Wake();
  if (!progress.ok()) return TreeProgress{};
  parts_.memory_worker.AwaitCommitted(parts_.last_commit, call.deadline);
  return *progress;
}

StatusOr<v1::ListCategoriesResponse> CategoryHandlers::ListCategories(
    const rpc::CallContext& call, const v1::ListCategoriesRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const CategoryQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Category> categories,
                          parts_.categories.List(call.deadline, query));
  v1::ListCategoriesResponse response;
  if (TrimPage(categories, query.page_size))
    response.set_next_page_token(NextToken(query, categories.back()));
  for (const Category& category : categories) *response.add_categories() = ToProto(category);
  return response;
}

}  // namespace winnow::newsfeed
