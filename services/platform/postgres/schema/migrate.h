#pragma once

#include <span>
#include <string>

#include "services/platform/base/embedded_file.h"
#include "services/platform/base/version.h"
#include "services/platform/postgres/pool/pool.h"

namespace winnow::pg {

// A service's schema and the files that bring it up to date, in order ("0001_init.sql", ...), with
// the declarations of migration_file.h.
struct Migrations {
  std::string schema;  // "dedup"
  std::span<const embedded::File> files;
  Version binary = BuildVersion();
};

// Applies what is missing, one migrator at a time (an advisory lock). Every schema keeps its
// versions in <schema>.schema_migrations. A schema that is newer than this binary, and declares to
// be compatible with it, is left as it is. A statement never waits longer than kLockTimeout for a
// table lock, behind which traffic would queue: it is tried again until the deadline. A migrator
// may be killed at any moment and run again.
// Errors: FAILED_PRECONDITION: the schema is newer and not compatible, an applied file was changed
// since, or an index is to be built through a transaction pooler (docs/adr/0019);
// DEADLINE_EXCEEDED: a lock did not come free in time.
Status Migrate(Pool& pool, const Migrations& migrations, Deadline deadline);

// OK when this binary may work on the schema: it is at the binary's version, or newer and
// compatible. FAILED_PRECONDITION that says what to run otherwise.
Status CheckMigrated(Pool& pool, const Migrations& migrations, Deadline deadline);

struct SchemaVersions {
  int database = 0;
  int binary = 0;
};
StatusOr<SchemaVersions> ReadSchemaVersions(Pool& pool, const Migrations& migrations,
                                            Deadline deadline);

inline constexpr std::chrono::milliseconds kLockTimeout(500);

}  // namespace winnow::pg
