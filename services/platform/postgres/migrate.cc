#include "services/platform/postgres/migrate.h"

#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "services/platform/hash.h"
#include "services/platform/log.h"
#include "services/platform/postgres/names.h"

namespace winnow::pg {
namespace {

constexpr Statement kLock = {"platform.migrate_lock",
                             "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"};
constexpr Statement kTableExists = {"platform.migrate_table_exists",
                                    "SELECT to_regclass($1) IS NOT NULL"};

struct Migration {
  int version;
  std::string name;
  std::string checksum;
  std::string_view sql;
};

struct Applied {
  std::string name;
  std::string checksum;
};
using AppliedVersions = std::map<int, Applied>;

std::string Checksum(std::string_view text) {
  const Hash128Value hash = Hash128(text);
  std::array<char, 33> hex;
  const int length = std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                                   static_cast<unsigned long long>(hash.high),
                                   static_cast<unsigned long long>(hash.low));
  return std::string(hex.data(), static_cast<size_t>(length));
}

// Files are numbered from 1 without a gap, so that two branches cannot both add a version
// unnoticed.
StatusOr<std::vector<Migration>> Number(const Migrations& migrations) {
  WINNOW_RETURN_IF_ERROR(CheckSchemaName(migrations.schema));
  std::vector<Migration> numbered;
  for (const embedded::File& file : migrations.files) {
    int version = 0;
    std::from_chars(file.name.data(), file.name.data() + file.name.size(), version);
    if (version != std::ssize(numbered) + 1) {
      return Internal("migrations of " + migrations.schema + " must be numbered 0001, 0002, ...: " +
                      std::string(file.name) + " is out of order");
    }
    numbered.push_back({version, std::string(file.name), Checksum(file.text), file.text});
  }
  return numbered;
}

StatusOr<AppliedVersions> ReadApplied(Session& session, const std::string& schema) {
  AppliedVersions applied;
  const std::string table = schema + ".schema_migrations";
  if (!session.Execute(kTableExists, table)[0][0].as<bool>()) return applied;
  for (const auto& row :
       session.ExecuteText("SELECT version, name, checksum FROM " + table + " ORDER BY version")) {
    applied[row[0].as<int>()] = {row[1].c_str(), row[2].c_str()};
  }
  return applied;
}

// What the database has must be the beginning of what this binary knows.
Status CheckHistory(const std::string& schema, const std::vector<Migration>& known,
                    const AppliedVersions& applied) {
  for (const auto& [version, row] : applied) {
    if (version < 1 || version > std::ssize(known)) {
      return FailedPrecondition("schema " + schema + " of the database is at version " +
                                std::to_string(applied.rbegin()->first) +
                                ", and this binary knows it up to " + std::to_string(known.size()) +
                                ": start a Winnow at least as new as the one that wrote it");
    }
    const Migration& migration = known[static_cast<size_t>(version) - 1];
    if (migration.checksum == row.checksum) continue;
    return FailedPrecondition("migration " + migration.name + " of schema " + schema +
                              " was applied with another text (as " + row.name +
                              "): this binary is not of the line that wrote the database");
  }
  return OkStatus();
}

Status Apply(Session& session, const std::string& schema, const Migration& migration) {
  session.ExecuteText("CREATE SCHEMA IF NOT EXISTS " + schema + ";CREATE TABLE IF NOT EXISTS " +
                      schema +
                      ".schema_migrations (version int PRIMARY KEY, name text NOT NULL, "
                      "checksum text NOT NULL, apply_time timestamptz NOT NULL DEFAULT now())");
  session.ExecuteText(std::string(migration.sql));
  const std::string insert =
      "INSERT INTO " + schema + ".schema_migrations (version, name, checksum) VALUES ($1, $2, $3)";
  const std::string name = "platform.migrate_insert." + schema;
  session.Execute({name.c_str(), insert.c_str()}, migration.version, migration.name,
                  migration.checksum);
  return OkStatus();
}

// Applies the first missing one, if any, and answers whether there was one.
StatusOr<bool> ApplyNext(Pool& pool, const std::string& schema, const std::vector<Migration>& known,
                         Deadline deadline) {
  return pool.Write(deadline, [&](Session& session) -> StatusOr<bool> {
    session.Execute(kLock, "winnow.migrate." + schema);
    WINNOW_ASSIGN_OR_RETURN(const AppliedVersions applied, ReadApplied(session, schema));
    WINNOW_RETURN_IF_ERROR(CheckHistory(schema, known, applied));
    for (const Migration& migration : known) {
      if (applied.contains(migration.version)) continue;
      WINNOW_RETURN_IF_ERROR(Apply(session, schema, migration));
      log::Info("migration applied", {{"schema", schema}, {"name", migration.name}});
      return true;
    }
    return false;
  });
}

}  // namespace

Status Migrate(Pool& pool, const Migrations& migrations, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Migration> known, Number(migrations));
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(const bool applied,
                            ApplyNext(pool, migrations.schema, known, deadline));
    if (!applied) return OkStatus();
  }
}

Status CheckMigrated(Pool& pool, const Migrations& migrations, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Migration> known, Number(migrations));
  return pool.Read(deadline, [&](Session& session) -> Status {
    WINNOW_ASSIGN_OR_RETURN(const AppliedVersions applied, ReadApplied(session, migrations.schema));
    WINNOW_RETURN_IF_ERROR(CheckHistory(migrations.schema, known, applied));
    if (applied.size() == known.size()) return OkStatus();
    return FailedPrecondition("schema " + migrations.schema + " of the database is at version " +
                              std::to_string(applied.size()) + " of " +
                              std::to_string(known.size()) + ": run `winnow migrate` first");
  });
}

}  // namespace winnow::pg
