#include "services/collector/items/item_sql.h"

namespace winnow::collector {
namespace {

// Lists travel as array literals in text, for unnest would flatten an array of arrays.
constexpr pg::Statement kInsert{
    "collector.insert_items",
    "INSERT INTO collector.items (id, identity, namespace, channel, external_id, url,"
    "   canonical_url, title, snippet, language, channel_name, image_url, video_url,"
    "   source_categories, keywords, publish_time, arrival_time, create_time,"
    "   publish_time_assumed, channel_icon_url, ai_tags)"
    " SELECT id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "   language, channel_name, image_url, video_url, source_categories::text[], keywords::text[],"
    "   publish_time, arrival_time, create_time, assumed <> 0, channel_icon_url, ai_tags::text[]"
    " FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],"
    "   $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],"
    "   $14::text[], $15::text[], $16::timestamptz[], $17::timestamptz[], $18::timestamptz[],"
    "   $19::bigint[], $20::text[], $21::text[])"
    "   AS i(id, identity, namespace, channel, external_id, url, canonical_url, title, snippet,"
    "     language, channel_name, image_url, video_url, source_categories, keywords, publish_time,"
    "     arrival_time, create_time, assumed, channel_icon_url, ai_tags)"
    " ON CONFLICT (identity) DO NOTHING RETURNING id"};

constexpr pg::Statement kReadByIdentity{"collector.read_items_by_identity",
                                        WINNOW_COLLECTOR_ITEMS_BY("identity")};

// The columns from namespace to video_url.
constexpr std::string Item::*kTexts[] = {
    &Item::ns,       &Item::channel, &Item::external_id, &Item::url,          &Item::canonical_url,
    &Item::title,    &Item::snippet, &Item::language,    &Item::channel_name, &Item::image_url,
    &Item::video_url};

std::string ToLiteral(const std::vector<std::string>& words) {
  if (words.empty()) return "{}";
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
  item.channel_name = text();
  item.image_url = text();
  item.video_url = text();
  item.source_categories = pg::ToTexts(row[column++]);
  item.keywords = pg::ToTexts(row[column++]);
  item.publish_time = pg::ToTime(row[column++]);
  item.arrival_time = pg::ToTime(row[column++]);
  item.create_time = pg::ToTime(row[column++]);
  item.publish_time_assumed = row[column++].as<bool>();
  item.channel_icon_url = text();
  item.ai_tags = pg::ToTexts(row[column++]);
  return item;
}

std::vector<std::string> InsertNew(pg::Session& session, std::span<const Candidate> candidates) {
  using pg::BinaryArray;
  BinaryArray ids(BinaryArray::kUuid);
  BinaryArray identities(BinaryArray::kUuid);
  std::vector<BinaryArray> texts(std::size(kTexts), BinaryArray(BinaryArray::kText));
  BinaryArray categories(BinaryArray::kText);
  BinaryArray keywords(BinaryArray::kText);
  BinaryArray publish_times(BinaryArray::kTimestamptz);
  BinaryArray arrival_times(BinaryArray::kTimestamptz);
  BinaryArray create_times(BinaryArray::kTimestamptz);
  BinaryArray assumed(BinaryArray::kBigint);
  BinaryArray icons(BinaryArray::kText);
  BinaryArray tags(BinaryArray::kText);
  for (const Candidate& candidate : candidates) {
    const Item& item = *candidate.item;
    ids.AddUuid(item.id);
    identities.AddUuid(candidate.identity.high, candidate.identity.low);
    for (size_t i = 0; i < texts.size(); ++i) texts[i].AddText(item.*kTexts[i]);
    categories.AddText(ToLiteral(item.source_categories));
    keywords.AddText(ToLiteral(item.keywords));
    publish_times.AddTime(item.publish_time.value());
    arrival_times.AddTime(item.arrival_time.value());
    create_times.AddTime(item.create_time);
    assumed.AddNumber(item.publish_time_assumed ? 1 : 0);
    icons.AddText(item.channel_icon_url);
    tags.AddText(ToLiteral(item.ai_tags));
  }
  pg::Parameters parameters;
  parameters.Add(ids);
  parameters.Add(identities);
  for (const BinaryArray& text : texts) parameters.Add(text);
  for (const BinaryArray* array : {&categories, &keywords, &publish_times, &arrival_times,
                                   &create_times, &assumed, &icons, &tags}) {
    parameters.Add(*array);
  }
  std::vector<std::string> created;
  const pqxx::result rows = session.Run(kInsert, parameters);
  created.reserve(rows.size());
  for (const auto& row : rows) created.emplace_back(row[0].c_str());
  return created;
}

std::vector<Item> ReadByIdentity(pg::Session& session, std::span<const Hash128Value> identities) {
  pg::BinaryArray keys(pg::BinaryArray::kUuid);
  for (const Hash128Value& identity : identities) keys.AddUuid(identity.high, identity.low);
  std::vector<Item> items;
  for (const auto& row : session.Execute(kReadByIdentity, keys)) items.push_back(ToItem(row));
  return items;
}

}  // namespace winnow::collector
