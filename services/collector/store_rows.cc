#include "services/collector/store_rows.h"

namespace winnow::collector {
namespace {

// Lists travel as array literals in text, for unnest would flatten an array of arrays.
constexpr pg::Statement kInsert{
    "collector.insert_items",
    "INSERT INTO collector.items (id, identity, namespace, channel, external_id, url,"
    "   canonical_url, title, snippet, language, source_name, image_url, video_url,"
    "   source_categories, keywords, publish_time, arrival_time, create_time)"
    " SELECT id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "   language, source_name, image_url, video_url, source_categories::text[], keywords::text[],"
    "   publish_time, arrival_time, create_time"
    " FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],"
    "   $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],"
    "   $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[])"
    "   AS i(id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "     language, source_name, image_url, video_url, source_categories, keywords, publish_time,"
    "     arrival_time, create_time)"
    " ON CONFLICT (identity) DO NOTHING RETURNING id"};

constexpr pg::Statement kReadByIdentity{"collector.read_items_by_identity",
                                        WINNOW_COLLECTOR_ITEMS_BY("identity")};

std::string ToLiteral(const std::vector<std::string>& words) {
  pg::Array array;
  for (const std::string& word : words) array.Add(word);
  return array.ToString();
}

}  // namespace

Item ToItem(const pqxx::row& row) {
  int column = 0;
  const auto text = [&] {
    const pqxx::field field = row[column++];
    return std::string(field.c_str(), field.size());
  };
  Item item;
  item.id = text();
  item.ns = text();
  item.channel = text();
  item.external_id = text();
  item.url = text();
  item.canonical_url = text();
  item.title = text();
  item.snippet = text();
  item.language = text();
  item.source_name = text();
  item.image_url = text();
  item.video_url = text();
  item.source_categories = pg::ToTexts(row[column++]);
  item.keywords = pg::ToTexts(row[column++]);
  item.publish_time = pg::ToTime(row[column++]);
  item.arrival_time = pg::ToTime(row[column++]);
  item.create_time = pg::ToTime(row[column++]);
  return item;
}

std::unordered_set<std::string> InsertNew(pg::Session& session, std::span<const Item* const> items,
                                          std::span<const std::string> identities) {
  pg::Array ids, keys, namespaces, channels, external_ids, urls, canonical_urls, titles, snippets,
      languages, source_names, image_urls, video_urls, categories, keywords, publish_times,
      arrival_times, create_times;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = *items[i];
    ids.Add(item.id);
    keys.Add(identities[i]);
    namespaces.Add(item.ns);
    channels.Add(item.channel);
    external_ids.Add(item.external_id);
    urls.Add(item.url);
    canonical_urls.Add(item.canonical_url);
    titles.Add(item.title);
    snippets.Add(item.snippet);
    languages.Add(item.language);
    source_names.Add(item.source_name);
    image_urls.Add(item.image_url);
    video_urls.Add(item.video_url);
    categories.Add(ToLiteral(item.source_categories));
    keywords.Add(ToLiteral(item.keywords));
    publish_times.Add(item.publish_time);
    arrival_times.Add(item.arrival_time);
    create_times.Add(item.create_time);
  }
  const pqxx::result created =
      session.Execute(kInsert, ids, keys, namespaces, channels, external_ids, urls, canonical_urls,
                      titles, snippets, languages, source_names, image_urls, video_urls, categories,
                      keywords, publish_times, arrival_times, create_times);
  std::unordered_set<std::string> out;
  for (const auto& row : created) out.insert(row[0].as<std::string>());
  return out;
}

std::vector<Item> ReadByIdentity(pg::Session& session, std::span<const std::string> identities) {
  pg::Array keys;
  for (const std::string& identity : identities) keys.Add(identity);
  std::vector<Item> items;
  for (const auto& row : session.Execute(kReadByIdentity, keys)) items.push_back(ToItem(row));
  return items;
}

}  // namespace winnow::collector
