#include "services/newsfeed/api/convert.h"

#include <algorithm>
#include <utility>

#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"
#include "services/platform/proto/timestamp.h"

// Articles, categories, and pages of feeds: articles that are encoded already are glued into a page
// as they are.
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

constexpr char kArticlesTag = 0x0a;  // field 1 of ListArticlesResponse, length-delimited

std::string NextToken(const FeedQuery& query, const FeedAnswer& answer, uint64_t hash) {
  if (!answer.next) return {};
  FeedPosition position = query.position;
  position.before = answer.next;
  position.since = answer.since;
  position.until = answer.until;
  position.epoch = answer.epoch;
  if (!position.tree) position.tree = answer.freshness.tree_revision;
  return EncodeFeedToken(position, hash);
}

// A process that lags never moves the place back from which a reader wants what is new.
std::string NewerToken(const FeedQuery& query, const FeedAnswer& answer, uint64_t hash) {
  const bool same_history = query.position.epoch.empty() || query.position.epoch == answer.epoch;
  const int64_t asked = same_history ? query.position.until.value_or(0) : 0;
  return EncodeFeedToken({.since = std::max(answer.until, asked), .epoch = answer.epoch}, hash);
}

void AddShare(v1::FeedMeta& meta, v1::Tier tier, size_t count) {
  if (count == 0) return;
  v1::TierShare& share = *meta.add_tiers();
  share.set_tier(tier);
  share.set_article_count(static_cast<int32_t>(count));
}

void FillMeta(const FeedQuery& query, const FeedAnswer& answer, v1::FeedMeta& meta) {
  AddShare(meta, v1::TIER_MEMORY, answer.from_memory);
  AddShare(meta, v1::TIER_STORE, answer.articles.size() - answer.from_memory);
  if (answer.freshness.changed_at) {
    *meta.mutable_last_refresh_time() = ToTimestamp(*answer.freshness.changed_at);
  }
  meta.set_stale(answer.stale);
  meta.set_cached_count(static_cast<int32_t>(answer.cached));
  if (answer.from_memory > 0) {
    meta.set_memory_filled_from(answer.source == FillSource::kRedis ? v1::TIER_REDIS
                                                                    : v1::TIER_STORE);
  }
  meta.set_degraded(answer.IsDegraded());
  if (answer.behind) meta.add_degraded_reasons(v1::DEGRADED_REASON_MEMORY_BEHIND);
  if (answer.cut) meta.add_degraded_reasons(v1::DEGRADED_REASON_PAGE_CUT);
  const std::optional<int64_t>& began = query.position.tree;
  meta.set_tree_changed(began && *began != answer.freshness.tree_revision);
}

void AppendVarint(size_t value, std::string& bytes) {
  while (value >= 0x80) {
    bytes += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes += static_cast<char>(value);
}

}  // namespace

std::string NamespaceOf(const std::string& ns, Violations& violations) {
  if (ns.empty()) return kDefaultNamespace;
  if (!IsSlug(ns)) violations.Add("namespace", "must be [a-z0-9-], 1 to 64 characters");
  return ns;
}

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

v1::WatchArticlesResponse Progress(const FeedQuery& query, int64_t position,
                                   const std::string& epoch) {
  v1::WatchArticlesResponse response;
  response.set_resume_token(EncodeFeedToken({.since = position, .epoch = epoch},
                                            HashFeed(query.ns, query.category, query.filter)));
  return response;
}

v1::WatchArticlesResponse ToProto(const FeedQuery& query, const FeedEvent& event, int64_t cursor,
                                  const std::string& epoch) {
  v1::WatchArticlesResponse response = Progress(query, event.seq, epoch);
  if (event.article == nullptr) {
    response.mutable_tombstone()->set_id(event.id);
    return response;
  }
  v1::WatchedArticle& watched = *response.mutable_article();
  watched.mutable_article()->ParseFromString(event.article->bytes);
  watched.set_entered(event.entered_at > cursor);
  return response;
}

v1::WatchArticlesResponse Gap(const FeedQuery& query, int64_t position, const std::string& epoch) {
  v1::WatchArticlesResponse response = Progress(query, position, epoch);
  response.mutable_gap()->set_reason(
      "changes since this token are no longer available: list the feed again without a token");
  return response;
}

std::string EncodeResponse(const FeedQuery& query, const FeedAnswer& answer) {
  const uint64_t hash = HashFeed(query.ns, query.category, query.filter);
  v1::ListArticlesResponse rest;  // all but the articles
  rest.set_next_page_token(NextToken(query, answer, hash));
  rest.set_newer_token(NewerToken(query, answer, hash));
  FillMeta(query, answer, *rest.mutable_meta());
  constexpr size_t kMaxFraming = 11;
  size_t size = rest.ByteSizeLong();
  for (const auto& article : answer.articles) size += article->bytes.size() + kMaxFraming;
  std::string bytes;
  bytes.reserve(size);
  for (const auto& article : answer.articles) {
    bytes += kArticlesTag;
    AppendVarint(article->bytes.size(), bytes);
    bytes += article->bytes;
  }
  rest.AppendToString(&bytes);
  return bytes;
}

}  // namespace winnow::newsfeed
