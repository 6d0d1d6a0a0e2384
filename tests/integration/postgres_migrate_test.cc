#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "services/platform/metrics.h"
#include "services/platform/postgres/migrate.h"
#include "tests/support/postgres.h"

namespace winnow::pg {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr embedded::File kFiles[] = {
    {"0001_init.sql", "CREATE TABLE shop.a (x int); INSERT INTO shop.a VALUES (1);"},
    {"0002_more.sql", "ALTER TABLE shop.a ADD COLUMN y int; UPDATE shop.a SET y = x + 1;"},
    {"0003_last.sql", "CREATE INDEX ON shop.a (y);"}};

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

class PostgresMigrate : public testing::Test {
 protected:
  std::unique_ptr<Pool> MakePool() {
    PoolOptions options;
    options.name = "migrate" + std::to_string(++pools_);
    options.url = url_;
    return std::make_unique<Pool>(options, metrics_);
  }
  Status Apply(std::span<const embedded::File> files) {
    return Migrate(*pool_, {"shop", files}, Soon());
  }
  std::string Ask(const std::string& sql) {
    const auto answer = pool_->Read(Soon(), [&](Session& session) -> StatusOr<std::string> {
      return std::string(session.ExecuteText(sql)[0][0].c_str());
    });
    return answer.ok() ? *answer : Message(answer.status());
  }

  std::string url_ = test::Postgres::Instance().NewDatabase();
  Metrics metrics_;
  int pools_ = 0;
  std::unique_ptr<Pool> pool_ = MakePool();
};

TEST_F(PostgresMigrate, AppliesWhatIsMissingInOrderOnce) {
  EXPECT_THAT(Message(CheckMigrated(*pool_, {"shop", kFiles}, Soon())),
              AllOf(HasSubstr("version 0 of 3"), HasSubstr("winnow migrate")));
  ASSERT_TRUE(Apply(std::span(kFiles).first(1)).ok());
  EXPECT_THAT(Message(CheckMigrated(*pool_, {"shop", kFiles}, Soon())), HasSubstr("1 of 3"));
  ASSERT_TRUE(Apply(kFiles).ok());
  ASSERT_TRUE(Apply(kFiles).ok());
  EXPECT_TRUE(CheckMigrated(*pool_, {"shop", kFiles}, Soon()).ok());
  EXPECT_EQ(Ask("SELECT y FROM shop.a"), "2");
  EXPECT_EQ(Ask("SELECT string_agg(version || name, ' ' ORDER BY version) "
                "FROM shop.schema_migrations"),
            "10001_init.sql 20002_more.sql 30003_last.sql");
}

TEST_F(PostgresMigrate, RefusesADatabaseOfANewerSchema) {
  ASSERT_TRUE(Apply(kFiles).ok());
  const std::span<const embedded::File> older = std::span(kFiles).first(2);
  const Status refused = Apply(older);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused),
              AllOf(HasSubstr("schema shop"), HasSubstr("version 3"), HasSubstr("up to 2")));
  EXPECT_EQ(CheckMigrated(*pool_, {"shop", older}, Soon()).code(), StatusCode::kFailedPrecondition);
}

TEST_F(PostgresMigrate, RefusesAnAppliedFileThatWasChanged) {
  ASSERT_TRUE(Apply(kFiles).ok());
  embedded::File changed[] = {kFiles[0], {"0002_more.sql", "SELECT 1"}, kFiles[2]};
  const Status refused = Apply(changed);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("0002_more.sql"));
}

TEST_F(PostgresMigrate, AFailingFileLeavesTheVersionBeforeIt) {
  const embedded::File failing[] = {
      kFiles[0], {"0002_bad.sql", "CREATE TABLE shop.b (x int); SELECT nonsense"}};
  EXPECT_FALSE(Apply(failing).ok());
  EXPECT_EQ(Ask("SELECT max(version) FROM shop.schema_migrations"), "1");
  EXPECT_EQ(Ask("SELECT to_regclass('shop.b') IS NULL"), "t");
  EXPECT_TRUE(Apply(kFiles).ok());
}

TEST_F(PostgresMigrate, RefusesFilesOutOfOrder) {
  const embedded::File gap[] = {kFiles[0], kFiles[2]};
  EXPECT_EQ(Apply(gap).code(), StatusCode::kInternal);
}

TEST_F(PostgresMigrate, SeveralProcessesAtOnceApplyEachFileOnce) {
  std::vector<std::unique_ptr<Pool>> pools;
  for (int i = 0; i < 4; ++i) pools.push_back(MakePool());
  std::vector<std::thread> processes;
  for (const auto& pool : pools) {
    processes.emplace_back([&] {
      const Status status = Migrate(*pool, {"shop", kFiles}, Soon());
      EXPECT_TRUE(status.ok()) << status.message();
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(Ask("SELECT count(*) FROM shop.a"), "1");
}

}  // namespace
}  // namespace winnow::pg
