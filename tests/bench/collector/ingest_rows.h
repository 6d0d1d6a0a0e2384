#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <span>
#include <vector>

#include "services/collector/items/item.h"
#include "services/platform/postgres/pool/pool.h"

// The rows of the ingest benchmark, as the floor and as requests.
namespace winnow::bench {

// Accepted items of the size of Korean news, different for each seed.
std::vector<collector::Item> MakeRows(int seed, int count);

// IngestItemsRequests of what a caller would send of them, serialised.
std::vector<grpc::ByteBuffer> ToRequests(const std::vector<collector::Item>& rows);

// A table like collector.items, with its indexes.
Status MakeBareTable(pg::Pool& pool, Deadline deadline);
// One insert of all rows by unnest, in a transaction of its own.
Status InsertBare(pg::Pool& pool, std::span<const collector::Item> rows, Deadline deadline);

}  // namespace winnow::bench
