#pragma once

#include <string>

#include "services/newsfeed/api/feed_status.h"
#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/articles/upsert.h"
#include "services/newsfeed/feed/article_codec.h"
#include "services/newsfeed/feed/feed_answer.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/newsfeed/search/search_terms.h"
#include "services/newsfeed/write/feed_stats.h"
#include "services/platform/base/status.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

// Maps messages to the domain and back.
namespace winnow::newsfeed {

// Valid when `violations` got none; fields are prefixed by `prefix` ("articles[3].").
Article FromProto(const v1::Article& article, const std::string& prefix, Violations& violations);
Category FromProto(const v1::Category& category, const std::string& prefix, Violations& violations);
// INVALID_ARGUMENT with all violations, or INVALID_PAGE_TOKEN.
StatusOr<FeedQuery> FromProto(const v1::ListArticlesRequest& request);
StatusOr<CategoryQuery> FromProto(const v1::ListCategoriesRequest& request);
// "default" for an empty one; violations on `namespace`.
std::string NamespaceOf(const std::string& ns, Violations& violations);
// Violations on `update_mask` and `url`.
void CheckCategoryMask(const google::protobuf::FieldMask& mask, Violations& violations);
std::string CanonicalUrlOf(const std::string& url, Violations& violations);

v1::Category ToProto(const Category& category);
v1::UpsertedArticle ToProto(const Upserted& upserted);
// What a watch answers, with the token that goes on after it: a change; nothing but the token; that
// changes up to a position can no longer be sent.
v1::WatchArticlesResponse ToProto(const FeedQuery& query, const FeedEvent& event, int64_t cursor,
                                  const std::string& epoch);
v1::WatchArticlesResponse Progress(const FeedQuery& query, int64_t position,
                                   const std::string& epoch);
v1::WatchArticlesResponse Gap(const FeedQuery& query, int64_t position, const std::string& epoch);
// INVALID_ARGUMENT with all violations, or INVALID_PAGE_TOKEN.
StatusOr<FeedQuery> FromProto(const v1::CountNewArticlesRequest& request);
StatusOr<FeedQuery> FromProto(const v1::WatchArticlesRequest& request);
StatusOr<FeedQuery> FromProto(const v1::RefreshFeedRequest& request);
StatusOr<FeedQuery> FromProto(const v1::GetFeedStatusRequest& request);
StatusOr<SearchQuery> FromProto(const v1::SearchArticlesRequest& request);
// Days are counted back from `now`.
StatusOr<StatsQuery> FromProto(const v1::GetFeedStatsRequest& request, Time now);
v1::FeedCounter ToProto(const FeedCounter& counter);
v1::GetFeedStatusResponse ToProto(const FeedStatus& status);
std::string NextToken(const SearchQuery& query, const FeedKey& last);
// ListArticlesResponse on the wire.
std::string EncodeResponse(const FeedQuery& query, const FeedAnswer& answer);
std::string NextToken(const CategoryQuery& query, const Category& last);

}  // namespace winnow::newsfeed
