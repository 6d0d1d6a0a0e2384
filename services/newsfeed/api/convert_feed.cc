#include <algorithm>
#include <utility>

#include "services/newsfeed/api/convert.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

// Requests for feeds and lists, their tokens, and pages of feeds: articles that are encoded already
// are glued into a page as they are.
namespace winnow::newsfeed {
namespace {

constexpr uint8_t kCategoryToken = 32;  // unique among the lists of Winnow
constexpr int kDefaultCategories = 100;
constexpr int kMaxCategoriesListed = 1000;
constexpr size_t kMaxPath = kMaxCategoryDepth * 65;

using Texts = google::protobuf::RepeatedPtrField<std::string>;

std::vector<std::string> CheckValues(const Texts& values, const std::string& field, size_t limit,
                                     Violations& violations) {
  if (values.size() > kMaxFilterValues) {
    violations.Add(field, "has " + std::to_string(values.size()) + " entries, the limit is " +
                              std::to_string(kMaxFilterValues) + "; send fewer");
    return {};
  }
  for (int i = 0; i < values.size(); ++i) {
    const std::string& value = values[i];
    if (value.empty() || CountCharacters(value) > limit || value.find('\0') != std::string::npos) {
      violations.Add(field + "[" + std::to_string(i) + "]",
                     "must have 1 to " + std::to_string(limit) + " characters, none of them NUL");
    }
  }
  return {values.begin(), values.end()};
}

std::optional<Time> CheckTime(bool is_set, const google::protobuf::Timestamp& timestamp,
                              const std::string& field, Violations& violations) {
  if (!is_set) return std::nullopt;
  const auto time = FromTimestamp(timestamp);
  if (time.ok()) return *time;
  for (const Violation& violation : ViolationsOf(time.status())) {
    violations.Add(field, violation.description);
  }
  return std::nullopt;
}

KeywordExpression CheckKeywords(const std::string& text, Violations& violations) {
  if (text.empty()) return {};
  StatusOr<KeywordExpression> expression = ParseKeywordExpression(text);
  if (expression.ok()) return *std::move(expression);
  for (const Violation& violation : ViolationsOf(expression.status())) {
    violations.Add("filter.keywords", violation.description);
  }
  return {};
}

FeedFilter FromProto(const v1::ArticleFilter& sent, Violations& violations) {
  FeedFilter filter;
  filter.sources = CheckValues(sent.sources(), "filter.sources", kMaxSource, violations);
  filter.languages = CheckValues(sent.languages(), "filter.languages", kMaxLanguage, violations);
  if (sent.has_has_image()) filter.has_image = sent.has_image();
  filter.publish_time_from = CheckTime(sent.has_publish_time_from(), sent.publish_time_from(),
                                       "filter.publish_time_from", violations);
  filter.publish_time_until = CheckTime(sent.has_publish_time_until(), sent.publish_time_until(),
                                        "filter.publish_time_until", violations);
  filter.keywords = CheckKeywords(sent.keywords(), violations);
  if (filter.publish_time_from && filter.publish_time_until &&
      *filter.publish_time_from >= *filter.publish_time_until) {
    violations.Add("filter.publish_time_until",
                   "must be after filter.publish_time_from, or nothing can be listed");
  }
  return filter;
}

int CheckPageSize(int requested, int default_size, int max_size, Violations& violations) {
  const auto size = PageSize(requested, default_size, max_size);
  if (size.ok()) return *size;
  for (const Violation& violation : ViolationsOf(size.status())) {
    violations.Add(violation.field, violation.description);
  }
  return default_size;
}

// No id has a slash.
std::string Join(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& id : path) text += (text.empty() ? "" : "/") + id;
  return text;
}

StatusOr<std::vector<std::string>> Split(const std::string& text) {
  std::vector<std::string> path;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('/', begin), text.size());
    path.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool valid = text.size() <= kMaxPath && path.size() <= kMaxCategoryDepth &&
                     std::all_of(path.begin(), path.end(), IsSlug);
  if (!valid) return InvalidPageToken("names no category; start again without a token");
  return path;
}

uint64_t HashCategories(const CategoryQuery& query) { return HashFeed(query.ns, {}, {}); }

// Namespace and category of a request.
template <class Request>
FeedQuery NamedFeed(const Request& request, Violations& violations) {
  FeedQuery query;
  query.ns = NamespaceOf(request.namespace_(), violations);
  query.category = request.category_id().empty() ? kAllFeed : request.category_id();
  if (!IsSlug(query.category)) {
    violations.Add("category_id", "must be the id of a category: [a-z0-9-], 1 to 64 characters");
  }
  return query;
}

// And its filter.
template <class Request>
FeedQuery FeedOf(const Request& request, Violations& violations) {
  FeedQuery query = NamedFeed(request, violations);
  query.filter = FromProto(request.filter(), violations);
  return query;
}

StatusOr<FeedQuery> WithPosition(FeedQuery query, const std::string& token,
                                 const Violations& violations) {
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(query.position,
                          ParseFeedToken(token, HashFeed(query.ns, query.category, query.filter)));
  return query;
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
  if (ns.empty()) return "default";
  if (!IsSlug(ns)) violations.Add("namespace", "must be [a-z0-9-], 1 to 64 characters");
  return ns;
}

StatusOr<FeedQuery> FromProto(const v1::ListArticlesRequest& request) {
  Violations violations;
  FeedQuery query = FeedOf(request, violations);
  query.page_size = CheckPageSize(request.page_size(), kDefaultPageSize, kMaxPageSize, violations);
  return WithPosition(std::move(query), request.page_token(), violations);
}

StatusOr<FeedQuery> FromProto(const v1::CountNewArticlesRequest& request) {
  Violations violations;
  FeedQuery query = FeedOf(request, violations);
  if (request.token().empty()) {
    violations.Add("token", "is required: newer_token or next_page_token of a page of this feed");
  }
  WINNOW_ASSIGN_OR_RETURN(query, WithPosition(std::move(query), request.token(), violations));
  if (query.position.epoch.empty() && query.position.since == 0 && !query.position.until) {
    return InvalidPageToken("has no position to count from: use newer_token of a page");
  }
  return query;
}

StatusOr<FeedQuery> FromProto(const v1::WatchArticlesRequest& request) {
  Violations violations;
  FeedQuery query = FeedOf(request, violations);
  return WithPosition(std::move(query), request.resume_token(), violations);
}

StatusOr<FeedQuery> FromProto(const v1::RefreshFeedRequest& request) {
  Violations violations;
  FeedQuery query = NamedFeed(request, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return query;
}

StatusOr<FeedQuery> FromProto(const v1::GetFeedStatusRequest& request) {
  Violations violations;
  FeedQuery query = NamedFeed(request, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return query;
}

StatusOr<CategoryQuery> FromProto(const v1::ListCategoriesRequest& request) {
  Violations violations;
  CategoryQuery query;
  query.ns = NamespaceOf(request.namespace_(), violations);
  query.page_size =
      CheckPageSize(request.page_size(), kDefaultCategories, kMaxCategoriesListed, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (request.page_token().empty()) return query;
  std::string path;
  WINNOW_RETURN_IF_ERROR(
      ReadPageToken(request.page_token(), kCategoryToken, HashCategories(query), path));
  WINNOW_ASSIGN_OR_RETURN(query.after, Split(path));
  return query;
}

std::string NextToken(const CategoryQuery& query, const Category& last) {
  return MakePageToken(kCategoryToken, HashCategories(query), Join(last.path));
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
