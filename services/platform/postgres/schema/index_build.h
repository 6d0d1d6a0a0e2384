#pragma once

#include <optional>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::pg {

// "CREATE [UNIQUE] INDEX CONCURRENTLY name ON schema.table ...".
struct IndexBuild {
  std::string schema;
  std::string table;
  std::string index;
  friend bool operator==(const IndexBuild&, const IndexBuild&) = default;
};

// Nothing for another statement; INTERNAL for one that could not be recovered after a kill:
// without a name, without the table's schema, or with IF NOT EXISTS, which an unfinished index
// satisfies.
StatusOr<std::optional<IndexBuild>> ParseIndexBuild(const std::string& statement);

// Whether the statement cannot run inside of a transaction.
bool IsConcurrent(const std::string& statement);

// Outside of a transaction, while no other migrator builds it: a killed or failed build leaves an
// invalid index behind, which is dropped and built again; a valid one is left as it is. Waits for
// transactions that are older than it, without blocking other transactions. Throws pqxx exceptions.
void BuildIndex(Session& session, const IndexBuild& build, const std::string& statement);

// The statement without CONCURRENTLY.
std::string WithoutConcurrently(const std::string& statement);

}  // namespace winnow::pg
