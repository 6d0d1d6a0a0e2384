#include "services/collector/items/item_store.h"

#include <set>
#include <unordered_map>

#include "services/collector/items/item_sql.h"
#include "services/collector/items/item_store.sql.h"
#include "services/platform/base/page_token.h"

namespace winnow::collector {
namespace {

// Before the first page there is no key: nothing comes before these.
constexpr const char* kEndOfTime = "infinity";
constexpr const char* kLastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

// What a new listing would see.
struct World {
  std::string snapshot;
  int64_t cluster = 0;
  int64_t recorded_cluster = 0;  // whose transactions `writer` counts
  std::string settled_id;        // items up to here are of an earlier cluster: in every listing
};

StatusOr<World> ReadWorld(pg::Pool& pool, Deadline deadline) {
  return pool.Statements(deadline, [](pg::Session& session) -> StatusOr<World> {
    const pqxx::result result = session.Execute(sql::kReadWorld);
    if (result.size() != 1) return Internal("collector.origin does not have one row");
    const pqxx::row row = result[0];
    return World{row[0].as<std::string>(), row[1].as<int64_t>(), row[2].as<int64_t>(),
                 row[3].as<std::string>()};
  });
}

StatusOr<World> ReadSettledWorld(pg::Pool& reads, pg::Pool& writes, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(World world, ReadWorld(reads, deadline));
  if (world.cluster == world.recorded_cluster) return world;
  WINNOW_RETURN_IF_ERROR(writes.Transaction(deadline, [](pg::Session& session) {
    session.Execute(sql::kSettle);
    return OkStatus();
  }));
  return ReadWorld(reads, deadline);
}

ListCursor StartAt(const World& world) { return {world.snapshot, world.cluster, {}, {}}; }

std::vector<Item> ReadPage(pg::Session& session, const ListQuery& query, const ListCursor& at,
                           const std::string& settled_id) {
  const bool begun = !at.id.empty();
  const std::string time = begun ? pg::ToParameter(at.arrival_time) : kEndOfTime;
  const std::string id = begun ? at.id : kLastId;
  const int limit = query.page_size + 1;  // one more shows whether there is a next page
  const pqxx::result rows =
      query.channel.empty()
          ? session.Execute(sql::kListItems, query.ns, time, id, settled_id, at.snapshot, limit)
          : session.Execute(sql::kListChannelItems, query.ns, time, id, settled_id, at.snapshot,
                            limit, query.channel);
  std::vector<Item> items;
  items.reserve(rows.size());
  for (const auto& row : rows) items.push_back(ToItem(row));
  return items;
}

}  // namespace

StatusOr<std::vector<std::optional<Item>>> ItemStore::Get(Deadline deadline,
                                                          const std::vector<std::string>& ids) {
  using Items = std::unordered_map<std::string, Item>;
  pg::Array array;
  for (const std::string& id : ids) array.Add(id);
  WINNOW_ASSIGN_OR_RETURN(const Items found,
                          reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Items> {
                            Items items;
                            for (const auto& row : session.Execute(sql::kGetItems, array)) {
                              Item item = ToItem(row);
                              items.emplace(item.id, std::move(item));
                            }
                            return items;
                          }));
  std::vector<std::optional<Item>> out;
  out.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto item = found.find(id);
    out.push_back(item == found.end() ? std::nullopt : std::optional(item->second));
  }
  return out;
}

StatusOr<std::vector<bool>> ItemStore::FindKnown(Deadline deadline,
                                                 const std::vector<Item>& items) {
  std::vector<Hash128Value> identities;
  identities.reserve(items.size());
  for (const Item& item : items) identities.push_back(IdentityOf(item));
  return writes_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<bool>> {
    std::set<Hash128Value> stored;
    for (const Item& item : ReadByIdentity(session, identities)) stored.insert(IdentityOf(item));
    std::vector<bool> known;
    for (const Hash128Value& identity : identities) known.push_back(stored.contains(identity));
    return known;
  });
}

StatusOr<ItemPage> ItemStore::List(Deadline deadline, const ListQuery& query) {
  WINNOW_ASSIGN_OR_RETURN(const World world, ReadSettledWorld(reads_, writes_, deadline));
  ListCursor cursor = query.cursor.value_or(StartAt(world));
  // A database that was moved: the listing goes on by its key, in the world as it is now.
  if (cursor.cluster != world.cluster) {
    cursor.cluster = world.cluster;
    cursor.snapshot = world.snapshot;
  }
  using Items = std::vector<Item>;
  WINNOW_ASSIGN_OR_RETURN(Items items,
                          reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Items> {
                            return ReadPage(session, query, cursor, world.settled_id);
                          }));
  ItemPage page;
  if (TrimPage(items, query.page_size)) {
    cursor.arrival_time = *items.back().arrival_time;
    cursor.id = items.back().id;
    page.next = cursor;
  }
  page.items = std::move(items);
  return page;
}

}  // namespace winnow::collector
