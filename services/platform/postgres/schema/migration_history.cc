#include "services/platform/postgres/schema/migration_history.h"

#include <algorithm>
#include <optional>

namespace winnow::pg {
namespace {

constexpr Statement kTableExists = {"platform.migrate_table_exists",
                                    "SELECT to_regclass($1) IS NOT NULL"};
constexpr Statement kColumnExists = {
    "platform.migrate_column_exists",
    "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($1) "
    "AND attname = 'oldest_compatible' AND NOT attisdropped)"};

std::string TableOf(const std::string& schema) { return schema + ".schema_migrations"; }

bool WasAppliedAs(const MigrationFile& file, const std::string& checksum) {
  const auto& former = file.former_checksums;
  return checksum == file.checksum ||
         std::find(former.begin(), former.end(), checksum) != former.end();
}

// The migrations of the database that `known` lacks: the one that asks for the newest binary.
const AppliedMigration* MostDemanding(size_t known, const AppliedMigrations& applied) {
  const AppliedMigration* most = nullptr;
  for (auto it = applied.upper_bound(static_cast<int>(known)); it != applied.end(); ++it) {
    const std::optional<Version> oldest = ParseVersion(it->second.oldest_compatible);
    if (!oldest) return &it->second;
    if (most == nullptr || *ParseVersion(most->oldest_compatible) < *oldest) most = &it->second;
  }
  return most;
}

Status CheckNewer(const std::string& schema, size_t known, const AppliedMigrations& applied,
                  const Version& binary) {
  const AppliedMigration* most = MostDemanding(known, applied);
  if (most == nullptr) return OkStatus();
  const int version = applied.rbegin()->first;
  const std::string state = "schema " + schema + " of the database is at version " +
                            std::to_string(version) + ", and this binary (winnow " +
                            binary.ToString() + ") knows it up to " + std::to_string(known);
  const std::optional<Version> oldest = ParseVersion(most->oldest_compatible);
  if (!oldest) {
    return FailedPrecondition(state + "; migration " + most->name +
                              " does not record which binaries are compatible: start the release "
                              "that applied it, or a newer one");
  }
  if (binary < *oldest) {
    return FailedPrecondition(state + "; migration " + most->name + " needs winnow " +
                              oldest->ToString() +
                              " or newer: start such a binary, or restore the backup from before "
                              "that migration");
  }
  if (applied.size() == static_cast<size_t>(version)) return OkStatus();
  return FailedPrecondition(state +
                            ", but an earlier migration is missing: the table schema_migrations "
                            "was changed by hand; restore it from a backup");
}

}  // namespace

AppliedMigrations ReadApplied(Session& session, const std::string& schema) {
  AppliedMigrations applied;
  const std::string table = TableOf(schema);
  if (!session.Execute(kTableExists, table)[0][0].as<bool>()) return applied;
  // By to_jsonb, as the table of a binary before 0.2.0 lacks the column.
  for (const auto& row : session.ExecuteText(
           "SELECT version, name, checksum, coalesce(to_jsonb(m) ->> 'oldest_compatible', '') "
           "FROM " +
           table + " m ORDER BY version")) {
    applied[row[0].as<int>()] = {row[1].c_str(), row[2].c_str(), row[3].c_str()};
  }
  return applied;
}

Status CheckHistory(const std::string& schema, const std::vector<MigrationFile>& known,
                    const AppliedMigrations& applied, const Version& binary) {
  for (const auto& [version, row] : applied) {
    if (version > std::ssize(known)) break;
    if (version >= 1 && WasAppliedAs(known[static_cast<size_t>(version) - 1], row.checksum)) {
      continue;
    }
    return FailedPrecondition(
        "migration " + row.name + " of schema " + schema +
        " was applied with another text than this binary (winnow " + binary.ToString() +
        ") has: another line of development wrote the database; start the release that applied "
        "it, or restore a backup of this line");
  }
  return CheckNewer(schema, known.size(), applied, binary);
}

void PrepareHistory(Session& session, const std::string& schema,
                    const std::vector<MigrationFile>& known) {
  const std::string table = TableOf(schema);
  session.ExecuteText("CREATE SCHEMA IF NOT EXISTS " + schema);
  session.ExecuteText("CREATE TABLE IF NOT EXISTS " + table +
                      " (version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, "
                      "apply_time timestamptz NOT NULL DEFAULT now())");
  // The oldest binary that works on the schema after this migration; '': not recorded.
  session.ExecuteText("ALTER TABLE " + table +
                      " ADD COLUMN IF NOT EXISTS oldest_compatible text NOT NULL DEFAULT ''");
  for (const MigrationFile& file : known) {
    session.ExecuteText(
        "UPDATE " + table + " SET oldest_compatible = '" + file.oldest_compatible.ToString() +
        "' WHERE version = " + std::to_string(file.version) + " AND oldest_compatible = ''");
  }
}

bool HistoryIsOutdated(Session& session, const std::string& schema) {
  return !session.Execute(kColumnExists, TableOf(schema))[0][0].as<bool>();
}

void RecordApplied(Session& session, const std::string& schema, const MigrationFile& file) {
  const std::string insert = "INSERT INTO " + TableOf(schema) +
                             " (version, name, checksum, oldest_compatible) "
                             "VALUES ($1, $2, $3, $4)";
  const std::string name = "platform.migrate_insert." + schema;
  session.Execute({name.c_str(), insert.c_str()}, file.version, file.name, file.checksum,
                  file.oldest_compatible.ToString());
}

}  // namespace winnow::pg
