#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/collector/items/item.h"
#include "services/collector/items/listing.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::collector {

// The schema `collector`. Errors of every method: as pg::Pool.
class ItemStore {
 public:
  // The pools outlive the store.
  ItemStore(pg::Pool& reads, pg::Pool& writes) : reads_(reads), writes_(writes) {}

  // Stores, in one transaction, the accepted items that are not known yet, each with its
  // ItemCollected event, and answers what is stored of each, in their order. Of items that are the
  // same the first is stored.
  StatusOr<std::vector<StatusOr<PutItem>>> Put(Deadline deadline, std::vector<Item> items,
                                               const std::string& traceparent);

  // The items of these UUIDs, in their order; nullopt for an unknown id.
  StatusOr<std::vector<std::optional<Item>>> Get(Deadline deadline,
                                                 const std::vector<std::string>& ids);

  // Of each accepted item whether it is stored.
  StatusOr<std::vector<bool>> FindKnown(Deadline deadline, const std::vector<Item>& items);

  StatusOr<ItemPage> List(Deadline deadline, const ListQuery& query);

 private:
  pg::Pool& reads_;
  pg::Pool& writes_;
};

}  // namespace winnow::collector
