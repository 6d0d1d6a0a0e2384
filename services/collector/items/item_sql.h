#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/collector/items/item.h"
#include "services/platform/postgres/session/session.h"

// Rows of collector.items, to and from the domain.
namespace winnow::collector {

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
