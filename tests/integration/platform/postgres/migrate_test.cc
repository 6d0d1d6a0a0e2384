#include "services/platform/postgres/schema/migrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/platform/process/metrics.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::pg {
namespace {

using embedded::File;
using testing::AllOf;
using testing::HasSubstr;

constexpr File kFiles[] = {
    {"0001_init.sql",
     "-- oldest-compatible: 0.2.0\nCREATE TABLE shop.a (x int); INSERT INTO shop.a VALUES (1);"},
    {"0002_more.sql",
     "-- oldest-compatible: 0.2.0\n"
     "ALTER TABLE shop.a ADD COLUMN y int; UPDATE shop.a SET y = x + 1;"},
    {"0003_last.sql",
     "-- oldest-compatible: 0.3.1\n-- transaction: none\n"
     "CREATE UNIQUE INDEX CONCURRENTLY a_by_y ON shop.a (y);\n"}};

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

class PostgresMigrate : public testing::Test {
 protected:
  std::unique_ptr<Pool> MakePool(const std::string& pooling = "") {
    PoolOptions options;
    options.name = "migrate" + std::to_string(++pools_);
    options.url = url_ + pooling;
    return std::make_unique<Pool>(options, metrics_);
  }
  Status Apply(std::span<const File> files, Version binary = {{0, 4, 0}}) {
    return Migrate(*pool_, {"shop", files, binary}, Soon());
  }
  Status Check(std::span<const File> files, Version binary = {{0, 4, 0}}) {
    return CheckMigrated(*pool_, {"shop", files, binary}, Soon());
  }
  std::string Ask(const std::string& sql) {
    const auto answer = pool_->Statements(Soon(), [&](Session& session) -> StatusOr<std::string> {
      const pqxx::result result = session.ExecuteText(sql);
      return std::string(result.empty() ? "none" : result[0][0].c_str());
    });
    return answer.ok() ? *answer : Message(answer.status());
  }
  void AwaitAnswer(const std::string& sql, const std::string& answer) {
    ASSERT_TRUE(test::Eventually([&] { return Ask(sql) == answer; })) << sql << ": " << Ask(sql);
  }

  std::string url_ = test::Postgres::Instance().NewDatabase();
  Metrics metrics_;
  int pools_ = 0;
  std::unique_ptr<Pool> pool_ = MakePool();
};

constexpr char kIndexIsValid[] =
    "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('shop.a_by_y')";

TEST_F(PostgresMigrate, AppliesWhatIsMissingInOrderOnce) {
  EXPECT_THAT(Message(Check(kFiles)),
              AllOf(HasSubstr("version 0 of 3"), HasSubstr("winnow migrate")));
  ASSERT_TRUE(Apply(std::span(kFiles).first(1)).ok());
  EXPECT_THAT(Message(Check(kFiles)), HasSubstr("1 of 3"));
  ASSERT_TRUE(Apply(kFiles).ok());
  ASSERT_TRUE(Apply(kFiles).ok());
  EXPECT_TRUE(Check(kFiles).ok());
  EXPECT_EQ(Ask("SELECT y FROM shop.a"), "2");
  EXPECT_EQ(Ask(kIndexIsValid), "t");
  EXPECT_EQ(Ask("SELECT string_agg(version || name || ' ' || oldest_compatible, ' ' "
                "ORDER BY version) FROM shop.schema_migrations"),
            "10001_init.sql 0.2.0 20002_more.sql 0.2.0 30003_last.sql 0.3.1");
}

TEST_F(PostgresMigrate, ANewerSchemaIsUsedByABinaryItDeclaresToBeCompatible) {
  ASSERT_TRUE(Apply(kFiles).ok());
  const std::span<const File> older = std::span(kFiles).first(2);
  for (const Version binary : {Version{{0, 3, 1}}, Version{{0, 3, 2}}, Version{{1, 0, 0}}}) {
    EXPECT_TRUE(Apply(older, binary).ok()) << binary.ToString();
    EXPECT_TRUE(Check(older, binary).ok()) << binary.ToString();
  }
  const auto versions = ReadSchemaVersions(*pool_, {"shop", older}, Soon());
  ASSERT_TRUE(versions.ok());
  EXPECT_EQ(versions->database, 3);
  EXPECT_EQ(versions->binary, 2);
  EXPECT_EQ(Ask("SELECT count(*) FROM shop.schema_migrations"), "3");
}

TEST_F(PostgresMigrate, ANewerSchemaThatIsNotCompatibleIsRefusedWithBothVersions) {
  ASSERT_TRUE(Apply(kFiles).ok());
  const std::span<const File> older = std::span(kFiles).first(2);
  for (const Status& refused :
       {Apply(older, Version{{0, 3, 0}}), Check(older, Version{{0, 3, 0}})}) {
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(refused),
                AllOf(HasSubstr("schema shop"), HasSubstr("version 3"), HasSubstr("up to 2"),
                      HasSubstr("winnow 0.3.0"), HasSubstr("0003_last.sql"),
                      HasSubstr("winnow 0.3.1 or newer"), HasSubstr("backup")));
  }
  Ask("UPDATE shop.schema_migrations SET oldest_compatible = '' WHERE version = 3");
  EXPECT_THAT(Message(Check(older)), HasSubstr("does not record"));
  Ask("UPDATE shop.schema_migrations SET oldest_compatible = '0.2.0' WHERE version = 3");
  Ask("DELETE FROM shop.schema_migrations WHERE version = 2");
  EXPECT_THAT(Message(Check(older)), HasSubstr("changed by hand"));
}

TEST_F(PostgresMigrate, ATableOfABinaryBeforeTheRuleIsUpgraded) {
  ASSERT_TRUE(Apply(kFiles).ok());
  Ask("ALTER TABLE shop.schema_migrations DROP COLUMN oldest_compatible");
  EXPECT_TRUE(Check(kFiles).ok());
  EXPECT_THAT(Message(Check(std::span(kFiles).first(2))), HasSubstr("does not record"));
  ASSERT_TRUE(Apply(kFiles).ok());
  EXPECT_EQ(Ask("SELECT string_agg(oldest_compatible, ' ' ORDER BY version) "
                "FROM shop.schema_migrations"),
            "0.2.0 0.2.0 0.3.1");
}

TEST_F(PostgresMigrate, RefusesAnAppliedFileThatWasChanged) {
  ASSERT_TRUE(Apply(kFiles).ok());
  File changed[] = {
      kFiles[0], {"0002_more.sql", "-- oldest-compatible: 0.2.0\nSELECT 1"}, kFiles[2]};
  const Status refused = Apply(changed);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("0002_more.sql"));
}

TEST_F(PostgresMigrate, AcceptsAKnownFormerTextAndCorrectedDeclarations) {
  ASSERT_TRUE(Apply(std::span(kFiles).first(2)).ok());
  const std::string former = Ask("SELECT checksum FROM shop.schema_migrations WHERE version = 2");
  const std::string text = "-- oldest-compatible: 0.2.5\n-- former-checksum: " + former +
                           "\nALTER TABLE shop.a ADD COLUMN y int;";
  const File rewritten[] = {kFiles[0], {"0002_more.sql", text}, kFiles[2]};
  EXPECT_TRUE(Check(std::span(rewritten).first(2)).ok());
  EXPECT_TRUE(Apply(rewritten).ok());
}

TEST_F(PostgresMigrate, AFailingFileLeavesTheVersionBeforeIt) {
  const File failing[] = {
      kFiles[0],
      {"0002_bad.sql",
       "-- oldest-compatible: 0.2.0\nCREATE TABLE shop.b (x int); SELECT nonsense"}};
  EXPECT_FALSE(Apply(failing).ok());
  EXPECT_EQ(Ask("SELECT max(version) FROM shop.schema_migrations"), "1");
  EXPECT_EQ(Ask("SELECT to_regclass('shop.b') IS NULL"), "t");
  EXPECT_TRUE(Apply(kFiles).ok());
}

TEST_F(PostgresMigrate, SeveralProcessesAtOnceApplyEachFileOnce) {
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 4; ++i) pools.push_back(MakePool());
  std::vector<std::thread> processes;
  for (const auto& pool : pools) {
    processes.emplace_back([&] {
      const Status status = Migrate(*pool, {"shop", kFiles, {{0, 4, 0}}}, Soon());
      EXPECT_TRUE(status.ok()) << status.message();
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(Ask("SELECT count(*) FROM shop.a"), "1");
  EXPECT_EQ(Ask(kIndexIsValid), "t");
  EXPECT_EQ(Ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
}

// What a build leaves that was killed, or that met a duplicate.
TEST_F(PostgresMigrate, AnInvalidIndexIsDroppedAndBuiltAgain) {
  ASSERT_TRUE(Apply(std::span(kFiles).first(2)).ok());
  Ask("INSERT INTO shop.a VALUES (7, 2)");
  EXPECT_EQ(Apply(kFiles).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Ask(kIndexIsValid), "f");
  EXPECT_EQ(Ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
  Ask("DELETE FROM shop.a WHERE x = 7");
  ASSERT_TRUE(Apply(kFiles).ok());
  EXPECT_EQ(Ask(kIndexIsValid), "t");
}

// A waiting ALTER TABLE stands before all traffic: it gives up again and again, and traffic passes.
TEST_F(PostgresMigrate, ATableLockThatIsHeldDelaysTheMigrationAndNobodyElse) {
  ASSERT_TRUE(Apply(std::span(kFiles).first(1)).ok());
  Status migrated;
  std::thread migrator;
  const auto holder = MakePool();
  const Status held = holder->Transaction(Soon(), [&](Session& session) {
    session.ExecuteText("SELECT x FROM shop.a");
    migrator = std::thread([&] { migrated = Apply(kFiles); });
    AwaitAnswer(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
        "to_regclass('shop.a')",
        "1");
    EXPECT_EQ(Ask("SELECT x FROM shop.a"), "1");  // behind it in the queue
    return OkStatus();
  });
  EXPECT_TRUE(held.ok()) << held.message();
  migrator.join();
  EXPECT_TRUE(migrated.ok()) << migrated.message();
  EXPECT_EQ(Ask("SELECT y FROM shop.a"), "2");
}

// It must not wait with a snapshot, which the other's CREATE INDEX CONCURRENTLY would wait for.
TEST_F(PostgresMigrate, AMigratorThatWaitsForAnotherHoldsNoIndexBuildUp) {
  ASSERT_TRUE(Apply(std::span(kFiles).first(2)).ok());
  const auto holder = MakePool();
  const auto second = MakePool();
  Status first_status;
  Status second_status;
  std::thread first_migrator;
  std::thread second_migrator;
  const Status held = holder->Transaction(Soon(), [&](Session& session) {
    session.ExecuteText("INSERT INTO shop.a VALUES (8, 9)");
    first_migrator = std::thread([&] { first_status = Apply(kFiles); });
    AwaitAnswer(kIndexIsValid, "f");  // it waits for this transaction
    second_migrator = std::thread([&] {
      second_status = Migrate(*second, {"shop", kFiles, {{0, 4, 0}}}, Soon());
    });
    AwaitAnswer(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND query LIKE '%pg_try_advisory_lock%' AND state = 'idle'",
        "1");
    return OkStatus();
  });
  EXPECT_TRUE(held.ok()) << held.message();
  first_migrator.join();
  second_migrator.join();
  EXPECT_TRUE(first_status.ok()) << first_status.message();
  EXPECT_TRUE(second_status.ok()) << second_status.message();
  EXPECT_EQ(Ask(kIndexIsValid), "t");
}

TEST_F(PostgresMigrate, ThroughATransactionPoolerAnIndexIsBuiltOnAnEmptyTableOnly) {
  const auto pooled = MakePool("&pooling=transaction");
  const auto apply = [&](std::span<const File> files) {
    return Migrate(*pooled, {"shop", files, {{0, 4, 0}}}, Soon());
  };
  const Status refused = apply(kFiles);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), AllOf(HasSubstr("pooler"), HasSubstr("winnow migrate")));
  EXPECT_EQ(Ask("SELECT max(version) FROM shop.schema_migrations"), "2");
  Ask("DELETE FROM shop.a");
  EXPECT_TRUE(apply(kFiles).ok());
  EXPECT_EQ(Ask(kIndexIsValid), "t");
}

}  // namespace
}  // namespace winnow::pg
