#include <algorithm>

#include "services/newsfeed/api/convert.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

// List requests and their tokens.
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

}  // namespace

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

}  // namespace winnow::newsfeed
