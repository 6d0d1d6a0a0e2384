#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/collector/items/item.h"
#include "services/platform/postgres/session/session.h"

// Rows of collector.items, to and from the domain.
namespace winnow::collector {

// The columns of an item, in the order in which ToItem reads them.
#define WINNOW_COLLECTOR_ITEM_COLUMNS                                                   \
  "id, namespace, channel, external_id, url, canonical_url, title, snippet, language, " \
  "channel_name, image_url, video_url, source_categories, keywords, publish_time, "     \
  "arrival_time, create_time, publish_time_assumed, channel_icon_url, ai_tags"

// Items by an array of keys. The LIMIT makes it a look-up by index for each key: = ANY, or a plain
// join, of a table that was never analysed may be planned as a scan, and stay that.
#define WINNOW_COLLECTOR_ITEMS_BY(key)                                         \
  "SELECT " WINNOW_COLLECTOR_ITEM_COLUMNS                                      \
  " FROM unnest($1::uuid[]) AS wanted(key) CROSS JOIN LATERAL"                 \
  " (SELECT " WINNOW_COLLECTOR_ITEM_COLUMNS " FROM collector.items WHERE " key \
  " = wanted.key"                                                              \
  "  LIMIT 1) AS found"

Item ToItem(const pqxx::row& row);

// An item that may be new, and its identity.
struct Candidate {
  Hash128Value identity;
  const Item* item = nullptr;
};

// Inserts those whose identity is free, and answers their ids; candidates and ids are in one order.
// Callers sort by identity, so that two batches wait for each other in one order and never
// deadlock.
std::vector<std::string> InsertNew(pg::Session& session, std::span<const Candidate> candidates);

// The items that hold these identities.
std::vector<Item> ReadByIdentity(pg::Session& session, std::span<const Hash128Value> identities);

}  // namespace winnow::collector
