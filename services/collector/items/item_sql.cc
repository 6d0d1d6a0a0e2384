#include "services/collector/items/item_sql.h"

#include "services/collector/items/item.sql.h"

namespace winnow::collector {
namespace {

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
  const pqxx::result rows = session.Run(sql::kInsertItems, parameters);
  created.reserve(rows.size());
  for (const auto& row : rows) created.emplace_back(row[0].c_str());
  return created;
}

std::vector<Item> ReadByIdentity(pg::Session& session, std::span<const Hash128Value> identities) {
  pg::BinaryArray keys(pg::BinaryArray::kUuid);
  for (const Hash128Value& identity : identities) keys.AddUuid(identity.high, identity.low);
  std::vector<Item> items;
  for (const auto& row : session.Execute(sql::kReadItemsByIdentity, keys))
    items.push_back(ToItem(row));
  return items;
}

}  // namespace winnow::collector
