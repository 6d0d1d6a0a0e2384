#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "services/collector/items/item.h"
#include "services/platform/postgres/pool/pool.h"
#include "winnow/events/v1/events.pb.h"

// What the collector's integration tests share.
namespace winnow::test {

// URL of a new database with the collector's schema.
std::string NewCollectorDatabase();

// An accepted item, different for each `number`.
collector::Item AcceptedItem(int number, const std::string& channel = "edaily");

// The one number that a statement answers.
int64_t QueryNumber(pg::Pool& pool, const std::string& sql);
void RunSql(pg::Pool& pool, const std::string& sql);

// What the outbox of the collector holds, in order.
std::vector<winnow::events::v1::Envelope> ReadOutbox(pg::Pool& pool);

}  // namespace winnow::test
