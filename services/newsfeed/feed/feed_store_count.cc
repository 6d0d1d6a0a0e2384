#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/feed/feed_store.h"

// How much is new in a feed.
namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kCategoryExists{
    "newsfeed.feed_exists",
    "SELECT 1 FROM newsfeed.categories WHERE namespace = $1 AND id = $2 "
    "AND NOT is_deleting"};

// $1 feed, $2 position, $3 whether it is of a token, $4 rows to look at, $5 sources, $6 languages,
// $7 has_image, $8 and $9 publish time (from, until), $10 keywords. Looked at: how many rows,
// filtered or not.
constexpr pg::Statement kCount{
    "newsfeed.count_newer",
    "WITH fresh AS MATERIALIZED (SELECT e.source, e.language, e.has_image, e.publish_time, e.terms "
    "FROM newsfeed.feed_entries e WHERE e.feed = (SELECT $1::text) "
    "AND e.seq > (SELECT $2::bigint) AND (NOT $3::boolean OR EXISTS (SELECT "
    "FROM newsfeed.log_streams l WHERE l.stream = 'feeds' AND l.head >= $2::bigint)) "
    "ORDER BY e.seq LIMIT (SELECT $4::bigint + 1)) "
    "SELECT count(*) FILTER (WHERE ($5::text[] IS NULL OR e.source = ANY ($5)) "
    "AND ($6::text[] IS NULL OR e.language = ANY ($6)) "
    "AND ($7::boolean IS NULL OR e.has_image = $7) AND e.publish_time >= $8::timestamptz "
    "AND e.publish_time < $9::timestamptz AND ($10::tsquery IS NULL OR e.terms @@ $10)), "
    "count(*) FROM fresh e"};

std::optional<pg::Array> ToArray(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

Status CheckFeedExists(pg::Session& session, const std::string& ns, const std::string& category) {
  if (IsBuiltInFeed(category)) return OkStatus();
  if (!session.Execute(kCategoryExists, ns, category).empty()) return OkStatus();
  return NotFound("category", category);
}

}  // namespace

Status FeedStore::CheckFeed(Deadline deadline, const std::string& ns, const std::string& category) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) { return CheckFeedExists(session, ns, category); });
}

StatusOr<NewerCount> FeedStore::CountNewer(Deadline deadline, const FeedQuery& query) {
  const FeedFilter& filter = query.filter;
  const int64_t after = query.position.until.value_or(query.position.since);
  std::optional<std::string> keywords;
  if (!filter.keywords.empty()) keywords = ToQueryText(filter.keywords);
  const auto bound = [](const std::optional<Time>& time, const char* none) {
    return time ? pg::ToParameter(*time) : std::string(none);
  };
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<NewerCount> {
    const std::string& epoch = query.position.epoch;
    // Of another history: what came since is not known.
    if (!epoch.empty() && epoch != session.epoch()) {
      WINNOW_RETURN_IF_ERROR(CheckFeedExists(session, query.ns, query.category));
      return NewerCount{0, /*exact=*/false};
    }
    const pqxx::result rows =
        session.Execute(kCount, FeedName(query.ns, query.category), after, !epoch.empty(),
                        query.scan_limit, ToArray(filter.sources), ToArray(filter.languages),
                        filter.has_image, bound(filter.publish_time_from, "-infinity"),
                        bound(filter.publish_time_until, "infinity"), keywords);
    NewerCount newer{rows[0][0].as<int64_t>(), rows[0][1].as<int64_t>() <= query.scan_limit};
    newer.count = std::min<int64_t>(newer.count, query.scan_limit);
    if (newer.count == 0) {
      WINNOW_RETURN_IF_ERROR(CheckFeedExists(session, query.ns, query.category));
    }
    return newer;
  });
}

}  // namespace winnow::newsfeed
