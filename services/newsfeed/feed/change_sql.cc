#include "services/newsfeed/feed/change_sql.h"

#include "services/newsfeed/articles/article_sql.h"
#include "services/newsfeed/feed/change.sql.h"

namespace winnow::newsfeed {
namespace {

const pg::Statement& PlacesStatement() {
  static const std::string sql =
      "SELECT s.i, e.seq, " + std::string(kContentColumns) +
      " FROM unnest($1::text[], $2::timestamptz[], $3::text[]) WITH ORDINALITY "
      "AS s (feed, publish_time, id, i) CROSS JOIN LATERAL (SELECT e.seq, e.article_number "
      "FROM newsfeed.feed_entries e WHERE e.feed = s.feed AND e.publish_time = s.publish_time "
      "AND e.id = s.id LIMIT 1) e CROSS JOIN LATERAL (SELECT " +
      std::string(kContentColumns) +
      " FROM newsfeed.news_articles a WHERE a.number = e.article_number LIMIT 1) a";
  static const pg::Statement statement{"newsfeed.read_places", sql.c_str()};
  return statement;
}

enum PlaceColumn { kPlace, kSeq, kContent };

}  // namespace

std::vector<LoggedChange> ReadChanges(pg::Session& session, int64_t after, int64_t until,
                                      int limit) {
  std::vector<LoggedChange> changes;
  for (const pqxx::row& row : session.Execute(sql::kReadChanges, after, until, limit)) {
    changes.push_back({row[0].as<int64_t>(), row[1].as<std::string>(),
                       FeedKey{ToMillis(pg::ToTime(row[3])), row[2].as<std::string>()},
                       pg::ToTexts(row[4])});
  }
  return changes;
}

std::vector<std::optional<PlacedArticle>> ReadPlaces(pg::Session& session,
                                                     std::span<const Place> places) {
  std::vector<std::optional<PlacedArticle>> found(places.size());
  if (places.empty()) return found;
  pg::Array feeds;
  pg::Array times;
  pg::Array ids;
  for (const Place& place : places) {
    feeds.Add(place.feed);
    times.Add(ToTime(place.key.publish_time));
    ids.Add(place.key.id);
  }
  for (const pqxx::row& row : session.Execute(PlacesStatement(), feeds, times, ids)) {
    const size_t index = row[kPlace].as<size_t>() - 1;
    const Place& place = places[index];
    found[index] =
        PlacedArticle{row[kSeq].as<int64_t>(), ReadContent(row, kContent, place.ns, place.key)};
  }
  return found;
}

std::map<std::string, Freshness> ReadFreshness(pg::Session& session,
                                               const std::set<std::string>& namespaces) {
  pg::Array names;
  for (const std::string& ns : namespaces) names.Add(ns);
  std::map<std::string, Freshness> fresh;
  for (const pqxx::row& row : session.Execute(sql::kReadFreshness, names)) {
    fresh[row[0].as<std::string>()] = {pg::ToOptionalTime(row[1]), pg::ToOptionalTime(row[2]),
                                       row[3].as<int64_t>()};
  }
  return fresh;
}

}  // namespace winnow::newsfeed
