#include "services/newsfeed/api/convert.h"

#include <utility>

#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"
#include "services/platform/proto/timestamp.h"

// Articles and categories.
namespace winnow::newsfeed {
namespace {

constexpr char kDefaultNamespace[] = "default";
constexpr char kDefaultRule[] = "caller";

// What FromTimestamp has against a time, under the field's name.
void AddViolations(const Status& status, const std::string& field, Violations& violations) {
  for (const Violation& violation : ViolationsOf(status)) {
    violations.Add(field, violation.description);
  }
}

std::vector<CategoryLabel> FromProto(
    const google::protobuf::RepeatedPtrField<v1::ArticleCategory>& categories) {
  std::vector<CategoryLabel> labels;
  labels.reserve(static_cast<size_t>(categories.size()));
  for (const v1::ArticleCategory& category : categories) {
    labels.push_back({category.category_id(),
                      category.rule().empty() ? kDefaultRule : category.rule(),
                      category.has_score() ? category.score() : 1});
  }
  return labels;
}

std::vector<std::string> FromProto(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

v1::UpsertOutcome ToProto(UpsertOutcome outcome) {
  switch (outcome) {
    case UpsertOutcome::kCreated:
      return v1::UPSERT_OUTCOME_CREATED;
    case UpsertOutcome::kUpdated:
      return v1::UPSERT_OUTCOME_UPDATED;
    case UpsertOutcome::kUnchanged:
      return v1::UPSERT_OUTCOME_UNCHANGED;
    case UpsertOutcome::kMerged:
      return v1::UPSERT_OUTCOME_MERGED;
  }
  return v1::UPSERT_OUTCOME_UNSPECIFIED;
}

}  // namespace

Article FromProto(const v1::Article& sent, const std::string& prefix, Violations& violations) {
  Article article;
  article.ns = sent.namespace_().empty() ? kDefaultNamespace : sent.namespace_();
  article.id = sent.id();
  article.url = sent.url();
  article.title = sent.title();
  article.snippet = sent.snippet();
  article.source = sent.source();
  article.source_name = sent.source_name();
  article.source_icon_url = sent.source_icon_url();
  article.thumbnail_url = sent.thumbnail_url();
  article.video_url = sent.video_url();
  article.categories = FromProto(sent.categories());
  article.keywords = FromProto(sent.keywords());
  article.ai_tags = FromProto(sent.ai_tags());
  article.language = sent.language();
  Validate(article, UrlRule::kRequired, prefix, violations);
  const std::string field = prefix + "publish_time";
  if (!sent.has_publish_time()) {
    violations.Add(field, "is required: when the source says that it was published");
  } else if (const auto time = FromTimestamp(sent.publish_time()); time.ok()) {
    article.publish_time = *time;
  } else {
    AddViolations(time.status(), field, violations);
  }
  if (sent.revision() < 0) {
    violations.Add(prefix + "revision", "must be 0, or a revision as it was read");
  }
  return article;
}

Category FromProto(const v1::Category& sent, const std::string& prefix, Violations& violations) {
  Category category;
  category.ns = sent.namespace_().empty() ? kDefaultNamespace : sent.namespace_();
  category.id = sent.id();
  category.display_name = sent.display_name();
  category.parent_id = sent.parent_id();
  category.etag = sent.etag();
  Validate(category, prefix, violations);
  return category;
}

void CheckCategoryMask(const google::protobuf::FieldMask& mask, Violations& violations) {
  if (mask.paths().empty()) violations.Add("update_mask", "is required: name display_name");
  for (int i = 0; i < mask.paths_size(); ++i) {
    if (mask.paths(i) == "display_name") continue;
    violations.Add("update_mask.paths[" + std::to_string(i) + "]",
                   "must be display_name; MoveCategory changes what a category is below");
  }
}

std::string CanonicalUrlOf(const std::string& url, Violations& violations) {
  if (CountCharacters(url) > kMaxUrl) {
    violations.Add("url", "has more than " + std::to_string(kMaxUrl) + " characters");
    return {};
  }
  StatusOr<std::string> canonical = CanonicalUrl(url);
  if (canonical.ok()) return *std::move(canonical);
  AddViolations(canonical.status(), "url", violations);
  return {};
}

v1::Category ToProto(const Category& category) {
  v1::Category proto;
  proto.set_id(category.id);
  proto.set_namespace_(category.ns);
  proto.set_display_name(category.display_name);
  proto.set_parent_id(category.parent_id);
  for (const std::string& id : category.path) proto.add_path(id);
  *proto.mutable_create_time() = ToTimestamp(category.create_time);
  *proto.mutable_update_time() = ToTimestamp(category.update_time);
  proto.set_etag(category.etag);
  return proto;
}

v1::UpsertedArticle ToProto(const Upserted& upserted) {
  v1::UpsertedArticle proto;
  proto.set_id(upserted.id);
  proto.set_outcome(ToProto(upserted.outcome));
  proto.set_revision(upserted.revision);
  return proto;
}

}  // namespace winnow::newsfeed
