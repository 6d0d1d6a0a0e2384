#include "services/platform/postgres/schema/migrate.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <pqxx/except>
#include <vector>

#include "services/platform/postgres/schema/index_build.h"
#include "services/platform/postgres/schema/migration_file.h"
#include "services/platform/postgres/schema/migration_history.h"
#include "services/platform/postgres/session/schema_name.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Traffic that queued behind a statement gets on before the next try.
constexpr milliseconds kPauseAfterLockTimeout(1'500);
constexpr milliseconds kPauseForOtherMigrator(200);

// A lock of the session: a transaction's would hold a snapshot back, or keep CREATE INDEX
// CONCURRENTLY from running at all. It is asked for again and again, as a statement that waits for
// it has a snapshot, for which the other migrator's CREATE INDEX CONCURRENTLY would wait.
constexpr Statement kTryLock = {"platform.migrate_lock",
                                "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"};
constexpr Statement kUnlock = {"platform.migrate_unlock",
                               "SELECT pg_advisory_unlock(hashtextextended($1, 0))"};
// Through a transaction pooler, where each transaction may be on another connection.
constexpr Statement kTryTransactionLock = {
    "platform.migrate_transaction_lock",
    "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"};

enum class Step { kApplied, kNothingToDo, kOtherMigrator, kLockTimeout };

// Serialises migrators of a schema. Taken and given back on one session.
class MigratorLock {
 public:
  MigratorLock(Session& session, const std::string& schema)
      : session_(session), key_("winnow.migrate." + schema) {
    const Statement& take = session.pooled() ? kTryTransactionLock : kTryLock;
    held_ = session.Execute(take, key_)[0][0].as<bool>();
  }
  ~MigratorLock() {
    if (!held_ || session_.pooled()) return;
    try {
      session_.Execute(kUnlock, key_);
    } catch (const std::exception& e) {  // then the connection is lost, and the lock with it
      log::Warn("the lock of migrations was not given back", {{"detail", e.what()}});
    }
  }
  MigratorLock(const MigratorLock&) = delete;
  MigratorLock& operator=(const MigratorLock&) = delete;

  bool held() const { return held_; }

 private:
  Session& session_;
  const std::string key_;
  bool held_ = false;
};

// Runs `body` in a transaction of its own, or in the one that a pooled session is in.
template <class Body>
void InTransaction(Session& session, Body&& body) {
  const std::string limit = "SET LOCAL lock_timeout = " + std::to_string(kLockTimeout.count());
  if (session.pooled()) {
    session.ExecuteText(limit);
    body();
    return;
  }
  session.ExecuteText("BEGIN ISOLATION LEVEL READ COMMITTED; " + limit);
  try {
    body();
    session.ExecuteText("COMMIT");
  } catch (const pqxx::broken_connection&) {
    throw;
  } catch (...) {
    session.ExecuteText("ROLLBACK");
    throw;
  }
}

class Migrator {
 public:
  Migrator(Session& session, const Migrations& migrations, const std::vector<MigrationFile>& known)
      : session_(session), schema_(migrations.schema), binary_(migrations.binary), known_(known) {}

  // Applies the first missing migration. `current`: its name, for messages.
  StatusOr<Step> ApplyNext(std::string& current);

 private:
  Status Apply(const MigrationFile& file);
  Status RunAlone(const std::string& statement);
  bool TableIsEmpty(const IndexBuild& build);

  Session& session_;
  const std::string& schema_;
  const Version binary_;
  const std::vector<MigrationFile>& known_;
};

StatusOr<Step> Migrator::ApplyNext(std::string& current) {
  const MigratorLock lock(session_, schema_);
  if (!lock.held()) return Step::kOtherMigrator;
  const AppliedMigrations applied = ReadApplied(session_, schema_);
  WINNOW_RETURN_IF_ERROR(CheckHistory(schema_, known_, applied, binary_));
  if (HistoryIsOutdated(session_, schema_)) {
    InTransaction(session_, [&] { PrepareHistory(session_, schema_, known_); });
  }
  for (const MigrationFile& file : known_) {
    if (applied.contains(file.version)) continue;
    current = file.name;
    WINNOW_RETURN_IF_ERROR(Apply(file));
    return Step::kApplied;
  }
  return Step::kNothingToDo;
}

Status Migrator::Apply(const MigrationFile& file) {
  const auto record = [&] { RecordApplied(session_, schema_, file); };
  if (file.statements.empty()) {
    InTransaction(session_, [&] {
      session_.ExecuteText(std::string(file.sql));
      record();
    });
    return OkStatus();
  }
  for (const std::string& statement : file.statements) {
    const bool last = &statement == &file.statements.back();
    if (IsConcurrent(statement)) {
      WINNOW_RETURN_IF_ERROR(RunAlone(statement));
      if (last) InTransaction(session_, record);
      continue;
    }
    InTransaction(session_, [&] {
      session_.ExecuteText(statement);
      if (last) record();
    });
  }
  return OkStatus();
}

Status Migrator::RunAlone(const std::string& statement) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<IndexBuild> build, ParseIndexBuild(statement));
  if (session_.pooled()) {
    if (build && TableIsEmpty(*build)) {
      session_.ExecuteText(WithoutConcurrently(statement));
      return OkStatus();
    }
    return FailedPrecondition(
        "a migration of schema " + schema_ +
        " builds or drops an index concurrently, which a transaction pooler cannot keep apart from "
        "another migrator's: run `winnow migrate` once with a postgres.url that leads to "
        "PostgreSQL itself, without pooling=transaction");
  }
  // It waits for older transactions and blocks none: no lock timeout, which would cut it off.
  session_.ExecuteText("SET lock_timeout = 0");
  if (build) {
    BuildIndex(session_, *build, statement);
  } else {
    session_.ExecuteText(statement);
  }
  session_.ExecuteText("RESET lock_timeout");
  return OkStatus();
}

bool Migrator::TableIsEmpty(const IndexBuild& build) {
  const std::string sql =
      "SELECT NOT EXISTS (SELECT FROM " + build.schema + "." + build.table + ")";
  return session_.ExecuteText(sql)[0][0].as<bool>();
}

// In a catch block: whether the exception is one of waiting for a lock, which another try may not
// meet.
bool IsLockTimeout() {
  try {
    throw;
  } catch (const pqxx::deadlock_detected&) {
    return true;
  } catch (const pqxx::sql_error& e) {
    return e.sqlstate() == "55P03";
  } catch (...) {
    return false;
  }
}

StatusOr<Step> ApplyNext(Pool& pool, const Migrations& migrations,
                         const std::vector<MigrationFile>& known, bool pooled, Deadline deadline,
                         std::string& current) {
  bool lock_timeout = false;
  const auto body = [&](Session& session) -> StatusOr<Step> {
    lock_timeout = false;
    try {
      return Migrator(session, migrations, known).ApplyNext(current);
    } catch (...) {
      lock_timeout = IsLockTimeout();
      throw;
    }
  };
  StatusOr<Step> step = pooled ? pool.Transaction(deadline, body) : pool.Statements(deadline, body);
  if (lock_timeout) return Step::kLockTimeout;
  return step;
}

void Pause(milliseconds length) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, length, [] { return false; });
}

// Says once what a migrator waits for, and waits a little.
class Waiting {
 public:
  Waiting(const std::string& schema, Deadline deadline) : schema_(schema), deadline_(deadline) {}

  Status Wait(Step step, const std::string& current) {
    const bool other = step == Step::kOtherMigrator;
    const milliseconds pause = other ? kPauseForOtherMigrator : kPauseAfterLockTimeout;
    if (step != said_) {
      log::Info(other ? "waiting for another migrator"
                      : "a migration waits for a table lock that other transactions hold",
                {{"schema", schema_}, {"name", current}});
      said_ = step;
    }
    if (steady_clock::now() + pause >= deadline_) {
      return DeadlineExceeded(
          other ? "another migrator of schema " + schema_ + " did not finish in time: run it again"
                : "migration " + current + " of schema " + schema_ +
                      " did not get a table lock in time: end the transactions that hold it "
                      "(pg_locks, pg_stat_activity) and run it again");
    }
    Pause(pause);
    return OkStatus();
  }

 private:
  const std::string& schema_;
  const Deadline deadline_;
  Step said_ = Step::kNothingToDo;
};

StatusOr<std::vector<MigrationFile>> ReadFiles(const Migrations& migrations) {
  WINNOW_RETURN_IF_ERROR(CheckSchemaName(migrations.schema));
  return ReadMigrationFiles(migrations.schema, migrations.files);
}

int NewestOf(const AppliedMigrations& applied) {
  return applied.empty() ? 0 : applied.rbegin()->first;
}

void LogNewer(const std::string& schema, int database, size_t known) {
  if (database <= static_cast<int>(known)) return;
  log::Info("the schema is newer than this binary, and compatible with it",
            {{"schema", schema}, {"database", database}, {"binary", known}});
}

}  // namespace

Status Migrate(Pool& pool, const Migrations& migrations, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<MigrationFile> known, ReadFiles(migrations));
  WINNOW_ASSIGN_OR_RETURN(const bool pooled, pool.Statements(deadline, [](Session& session) {
    return StatusOr<bool>(session.pooled());
  }));
  Waiting waiting(migrations.schema, deadline);
  std::string current;
  while (true) {
    const StatusOr<Step> step = ApplyNext(pool, migrations, known, pooled, deadline, current);
    if (!step.ok() && !current.empty()) {
      log::Error(
          "a migration failed",
          {{"schema", migrations.schema}, {"name", current}, {"error", Message(step.status())}});
    }
    WINNOW_RETURN_IF_ERROR(step.status());
    if (*step == Step::kNothingToDo) break;
    if (*step == Step::kApplied) {
      log::Info("migration applied", {{"schema", migrations.schema}, {"name", current}});
      continue;
    }
    WINNOW_RETURN_IF_ERROR(waiting.Wait(*step, current));
  }
  WINNOW_ASSIGN_OR_RETURN(const SchemaVersions now, ReadSchemaVersions(pool, migrations, deadline));
  LogNewer(migrations.schema, now.database, known.size());
  return OkStatus();
}

Status CheckMigrated(Pool& pool, const Migrations& migrations, Deadline deadline) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<MigrationFile> known, ReadFiles(migrations));
  return pool.Statements(deadline, [&](Session& session) -> Status {
    const AppliedMigrations applied = ReadApplied(session, migrations.schema);
    WINNOW_RETURN_IF_ERROR(CheckHistory(migrations.schema, known, applied, migrations.binary));
    LogNewer(migrations.schema, NewestOf(applied), known.size());
    if (applied.size() >= known.size()) return OkStatus();
    return FailedPrecondition("schema " + migrations.schema + " of the database is at version " +
                              std::to_string(applied.size()) + " of " +
                              std::to_string(known.size()) + ": run `winnow migrate` first");
  });
}

StatusOr<SchemaVersions> ReadSchemaVersions(Pool& pool, const Migrations& migrations,
                                            Deadline deadline) {
  return pool.Statements(deadline, [&](Session& session) -> StatusOr<SchemaVersions> {
    const AppliedMigrations applied = ReadApplied(session, migrations.schema);
    return SchemaVersions{NewestOf(applied), static_cast<int>(migrations.files.size())};
  });
}

}  // namespace winnow::pg
