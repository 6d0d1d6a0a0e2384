#pragma once

#include <span>
#include <string>

#include "services/platform/embedded.h"
#include "services/platform/postgres/pool.h"

namespace winnow::pg {

// A service's schema and the files that bring it up to date, in order ("0001_init.sql", ...).
struct Migrations {
  std::string schema;  // "dedup"
  std::span<const embedded::File> files;
};

// Applies what is missing, each file in a transaction of its own, under an advisory lock. Errors:
// FAILED_PRECONDITION when the database is of a newer schema than this binary, or an applied file
// was changed since. Every schema keeps its versions in <schema>.schema_migrations.
Status Migrate(Pool& pool, const Migrations& migrations, Deadline deadline);

// OK when the schema is at this binary's version; FAILED_PRECONDITION that says what to run
// otherwise.
Status CheckMigrated(Pool& pool, const Migrations& migrations, Deadline deadline);

}  // namespace winnow::pg
