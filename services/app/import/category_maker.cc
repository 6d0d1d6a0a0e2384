#include "services/app/import/category_maker.h"

#include "services/platform/base/text.h"

namespace winnow::app {
namespace {

using newsfeed::v1::NewsFeedService;

// A source with more names than this sends tags, not categories.
constexpr size_t kMaxCategories = 1000;

bool CanBeCategory(const std::string& name) {
  return IsSlug(name) && name != "all" && name != "uncategorized";
}

}  // namespace

CategoryMaker::CategoryMaker(const Remote& remote, std::string item_namespace)
    : server_(remote), namespace_(std::move(item_namespace)) {}

Status CategoryMaker::Ensure(const collector::v1::Item& item) {
  for (const std::string& name : item.source_categories()) {
    if (!CanBeCategory(name) || seen_.contains(name)) continue;
    if (seen_.size() >= kMaxCategories) return OkStatus();
    WINNOW_RETURN_IF_ERROR(Create(name));
    seen_.insert(name);
  }
  return OkStatus();
}

Status CategoryMaker::Create(const std::string& id) {
  newsfeed::v1::CreateCategoryRequest request;
  request.mutable_category()->set_id(id);
  request.mutable_category()->set_namespace_(namespace_);
  request.mutable_category()->set_display_name(id);
  const Status status = server_.Call(&NewsFeedService::Stub::CreateCategory, request).status();
  return status.code() == StatusCode::kAlreadyExists ? OkStatus() : status;
}

}  // namespace winnow::app
