#include <algorithm>

#include "services/newsfeed/api/convert.h"
#include "services/newsfeed/api/feed_status.h"
#include "services/newsfeed/search/search_terms.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"

// Searches, counters, and how feeds are served.
namespace winnow::newsfeed {
namespace {

constexpr uint8_t kSearchToken = 33;  // unique among the lists of Winnow
constexpr int kDefaultDays = 7;
constexpr int kDefaultCounters = 20;
constexpr int kMaxCounters = 100;

uint64_t HashSearch(const SearchQuery& query) {
  std::string what;
  for (const std::string& term : query.terms) what += term + '\n';
  return HashFeed(query.ns, what, {});
}

void AddAll(const Status& status, Violations& violations) {
  for (const Violation& violation : ViolationsOf(status)) {
    violations.Add(violation.field, violation.description);
  }
}

v1::Tier TierOf(FillSource source) {
  return source == FillSource::kRedis ? v1::TIER_REDIS : v1::TIER_STORE;
}

void Fill(const MemoryStatus& memory, const std::optional<StoreStatus>& store,
          v1::MemoryStatus& proto) {
  proto.set_cached_count(static_cast<int32_t>(memory.cached));
  proto.set_whole(!memory.floor.has_value());
  if (memory.floor) {
    *proto.mutable_floor_publish_time() = ToTimestamp(
        Time(std::chrono::duration_cast<Micros>(memory.floor->publish_time.time_since_epoch())));
    proto.set_floor_id(memory.floor->id);
  }
  proto.set_position(memory.position);
  if (store) proto.set_lag(std::max<int64_t>(0, store->head - memory.position));
  proto.set_filled_from(TierOf(memory.source));
}

}  // namespace

StatusOr<SearchQuery> FromProto(const v1::SearchArticlesRequest& request) {
  Violations violations;
  SearchQuery query;
  query.ns = NamespaceOf(request.namespace_(), violations);
  StatusOr<std::vector<std::string>> terms = ParseSearch(request.query());
  AddAll(terms.status(), violations);
  const auto size = PageSize(request.page_size(), kDefaultPageSize, kMaxPageSize);
  AddAll(size.status(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  query.terms = *std::move(terms);
  query.page_size = *size;
  if (request.page_token().empty()) return query;
  std::string key;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kSearchToken, HashSearch(query), key));
  // Written as the published cursor is, which is checked where that is read.
  WINNOW_ASSIGN_OR_RETURN(FeedPosition position, ParseFeedToken(key, 0));
  if (!position.before) return InvalidPageToken("names no article; start again without a token");
  query.before = std::move(position.before);
  return query;
}

std::string NextToken(const SearchQuery& query, const FeedKey& last) {
  return MakePageToken(
      kSearchToken, HashSearch(query),
      std::to_string(last.publish_time.time_since_epoch().count()) + "_" + last.id);
}

StatusOr<StatsQuery> FromProto(const v1::GetFeedStatsRequest& request, Time now) {
  Violations violations;
  StatsQuery query;
  query.ns = NamespaceOf(request.namespace_(), violations);
  switch (request.dimension()) {
    case v1::STATS_DIMENSION_CATEGORY:
      query.kind = CounterKind::kCategory;
      break;
    case v1::STATS_DIMENSION_SOURCE:
      query.kind = CounterKind::kSource;
      break;
    case v1::STATS_DIMENSION_CHANNEL:
      query.kind = CounterKind::kChannel;
      break;
    default:
      violations.Add("dimension", "is required: category, source or channel");
  }
  const int days = request.days() == 0 ? kDefaultDays : request.days();
  if (days < 1 || days > kKeptDays) {
    violations.Add("days", "must be 1 to " + std::to_string(kKeptDays) + ", or 0 for " +
                               std::to_string(kDefaultDays));
  }
  const auto limit = PageSize(request.limit(), kDefaultCounters, kMaxCounters);
  if (!limit.ok()) violations.Add("limit", "must not be negative");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  query.from = Time(std::chrono::floor<std::chrono::days>(now)) - std::chrono::days(days - 1);
  query.limit = *limit;
  return query;
}

v1::FeedCounter ToProto(const FeedCounter& counter) {
  v1::FeedCounter proto;
  proto.set_key(counter.key);
  proto.set_article_count(counter.articles);
  proto.set_citation_count(counter.citations);
  for (const DayCount& day : counter.days) {
    v1::DayCount& count = *proto.add_days();
    *count.mutable_day() = ToTimestamp(day.day);
    count.set_article_count(day.articles);
    count.set_citation_count(day.citations);
  }
  return proto;
}

v1::GetFeedStatusResponse ToProto(const FeedStatus& status) {
  v1::GetFeedStatusResponse proto;
  if (status.memory) Fill(*status.memory, status.store, *proto.mutable_memory());
  if (status.store) {
    const StoreStatus& stored = *status.store;
    v1::StoreStatus& store = *proto.mutable_store();
    store.set_head(stored.head);
    store.set_epoch(stored.epoch);
    store.mutable_index()->set_complete(stored.index.complete);
    store.mutable_index()->set_position(stored.index.complete ? stored.head
                                                              : stored.index.position);
    const Freshness& fresh = stored.freshness;
    if (fresh.changed_at) *store.mutable_last_change_time() = ToTimestamp(*fresh.changed_at);
    if (fresh.created_at) *store.mutable_last_article_time() = ToTimestamp(*fresh.created_at);
    store.set_pending_category_count(static_cast<int32_t>(stored.pending_categories));
  }
  if (status.has_redis) {
    v1::ProjectionStatus& projection = *proto.mutable_projection();
    projection.set_available(!status.redis_away);
    if (status.projection) {
      projection.set_position(status.projection->position);
      *projection.mutable_write_time() = ToTimestamp(status.projection->written_at);
      if (status.store) {
        projection.set_lag(std::max<int64_t>(0, status.store->head - status.projection->position));
      }
    }
  }
  v1::PageCounts& pages = *proto.mutable_pages();
  pages.set_memory_count(status.pages.memory);
  pages.set_spliced_count(status.pages.spliced);
  pages.set_store_count(status.pages.store);
  return proto;
}

}  // namespace winnow::newsfeed
