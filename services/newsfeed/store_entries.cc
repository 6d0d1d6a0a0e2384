#include "services/newsfeed/store_entries.h"

#include "services/newsfeed/store_rows.h"

namespace winnow::newsfeed {
namespace {

constexpr pg::Statement kInsert{
    "newsfeed.insert_entries",
    "INSERT INTO newsfeed.feed_entries "
    "(feed, publish_time, id, source, language, has_image, seq, article_number) "
    "SELECT s.feed, s.publish_time, s.id, s.source, s.language, s.has_image, s.seq, s.number "
    "FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], "
    "$6::boolean[], $7::bigint[], $8::bigint[]) "
    "AS s (feed, publish_time, id, source, language, has_image, seq, number)"};

constexpr pg::Statement kDelete{
    "newsfeed.delete_entries",
    "DELETE FROM newsfeed.feed_entries e "
    "USING unnest($1::text[], $2::timestamptz[], $3::text[]) AS s (feed, publish_time, id) "
    "WHERE e.feed = s.feed AND e.publish_time = s.publish_time AND e.id = s.id"};

constexpr pg::Statement kRefresh{
    "newsfeed.refresh_entries",
    "UPDATE newsfeed.feed_entries e "
    "SET source = s.source, language = s.language, has_image = s.has_image "
    "FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], "
    "$6::boolean[]) AS s (feed, publish_time, id, source, language, has_image) "
    "WHERE e.feed = s.feed AND e.publish_time = s.publish_time AND e.id = s.id"};

void AddKeys(pg::Parameters& parameters, std::span<const Entry> entries) {
  pg::Array feeds;
  pg::Array times;
  pg::Array ids;
  for (const Entry& entry : entries) {
    feeds.Add(entry.feed);
    times.Add(ToTime(entry.article->publish_time));
    ids.Add(entry.article->content.id);
  }
  parameters.Add(feeds);
  parameters.Add(times);
  parameters.Add(ids);
}

void AddFiltered(pg::Parameters& parameters, std::span<const Entry> entries) {
  pg::Array sources;
  pg::Array languages;
  pg::Array images;
  for (const Entry& entry : entries) {
    sources.Add(entry.article->content.source);
    languages.Add(entry.article->content.language);
    images.Add(!entry.article->content.thumbnail_url.empty());
  }
  parameters.Add(sources);
  parameters.Add(languages);
  parameters.Add(images);
}

}  // namespace

void InsertEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  AddFiltered(parameters, entries);
  pg::Array positions;
  pg::Array numbers;
  for (const Entry& entry : entries) {
    positions.Add(entry.seq);
    numbers.Add(entry.article->number);
  }
  parameters.Add(positions);
  parameters.Add(numbers);
  session.Run(kInsert, parameters);
}

void DeleteEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  session.Run(kDelete, parameters);
}

void RefreshEntries(pg::Session& session, std::span<const Entry> entries) {
  if (entries.empty()) return;
  pg::Parameters parameters;
  AddKeys(parameters, entries);
  AddFiltered(parameters, entries);
  session.Run(kRefresh, parameters);
}

}  // namespace winnow::newsfeed
