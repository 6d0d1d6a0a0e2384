#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/postgres/schema/migration_file.h"
#include "services/platform/postgres/session/session.h"

// Which migrations a database has: <schema>.schema_migrations. Functions with a Session throw pqxx
// exceptions.
namespace winnow::pg {

struct AppliedMigration {
  std::string name;
  std::string checksum;
  std::string oldest_compatible;  // empty: recorded by a binary before 0.2.0
};
using AppliedMigrations = std::map<int, AppliedMigration>;  // by version

// Empty where there is no such schema yet.
AppliedMigrations ReadApplied(Session& session, const std::string& schema);

// Whether a binary of version `binary` that knows `known` may work on a database with `applied`:
// what it knows was applied as it knows it, and what it does not know declares to be compatible.
// FAILED_PRECONDITION otherwise, with what to do.
Status CheckHistory(const std::string& schema, const std::vector<MigrationFile>& known,
                    const AppliedMigrations& applied, const Version& binary);

// Makes the schema and its table, or adds what a table of former binaries lacks. Inside of a
// transaction.
void PrepareHistory(Session& session, const std::string& schema,
                    const std::vector<MigrationFile>& known);
// Whether PrepareHistory has something to do.
bool HistoryIsOutdated(Session& session, const std::string& schema);

void RecordApplied(Session& session, const std::string& schema, const MigrationFile& file);

}  // namespace winnow::pg
