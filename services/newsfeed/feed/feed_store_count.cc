#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/feed/feed_store.h"
#include "services/newsfeed/feed/feed_store.sql.h"

// How much is new in a feed.
namespace winnow::newsfeed {
namespace {

std::optional<pg::Array> ToArray(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  pg::Array array;
  for (const std::string& text : texts) array.Add(text);
  return array;
}

Status CheckCategoryExists(pg::Session& session, const std::string& ns,
                           const std::string& category) {
  if (IsBuiltInFeed(category)) return OkStatus();
  if (!session.Execute(sql::kCategoryExists, ns, category).empty()) return OkStatus();
  return NotFound("category", category);
}

}  // namespace

Status FeedStore::CheckFeed(Deadline deadline, const std::string& ns, const std::string& category) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) { return CheckCategoryExists(session, ns, category); });
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
      WINNOW_RETURN_IF_ERROR(CheckCategoryExists(session, query.ns, query.category));
      return NewerCount{0, /*exact=*/false};
    }
    const pqxx::result rows =
        session.Execute(sql::kCountNewer, FeedName(query.ns, query.category), after, !epoch.empty(),
                        query.scan_limit, ToArray(filter.sources), ToArray(filter.languages),
                        filter.has_image, bound(filter.publish_time_from, "-infinity"),
                        bound(filter.publish_time_until, "infinity"), keywords);
    NewerCount newer{rows[0][0].as<int64_t>(), rows[0][1].as<int64_t>() <= query.scan_limit};
    newer.count = std::min<int64_t>(newer.count, query.scan_limit);
    if (newer.count == 0) {
      WINNOW_RETURN_IF_ERROR(CheckCategoryExists(session, query.ns, query.category));
    }
    return newer;
  });
}

}  // namespace winnow::newsfeed
