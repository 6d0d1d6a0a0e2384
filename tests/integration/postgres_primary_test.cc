#include <gmock/gmock.h>

#include "services/platform/postgres/accepted_systems.h"
#include "services/platform/postgres/log_transaction.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/postgres/primary_watch.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

// With one server: tests/chaos/test_failover.py has two.
namespace winnow::pg {
namespace {

using std::chrono::steady_clock;
using test::Eventually;
using testing::HasSubstr;

Deadline Soon() { return steady_clock::now() + std::chrono::seconds(60); }

class PostgresPrimary : public testing::Test {
 protected:
  std::unique_ptr<Pool> MakePool(bool watched = true) {
    PoolOptions options{.name = "test", .url = url_};
    if (watched) {
      auto watch = PrimaryWatch::Start(url_, "", metrics_);
      EXPECT_TRUE(watch.ok());
      watch_ = *watch;
      options.primary = watch_;
    }
    return std::make_unique<Pool>(std::move(options), metrics_);
  }

  // As after a dump was restored on this server.
  void PretendToBeRestored() {
    ASSERT_TRUE(
        Run(*MakePool(false), "UPDATE platform.accepted_systems SET system_identifier = 1"));
  }

  static bool Run(Pool& pool, const std::string& sql) {
    return pool
        .Write(Soon(),
               [&](Session& session) {
                 session.ExecuteText(sql);
                 return OkStatus();
               })
        .ok();
  }

  const std::string url_ = test::Postgres::Instance().NewDatabase();
  Metrics metrics_;
  std::shared_ptr<PrimaryWatch> watch_;
};

TEST_F(PostgresPrimary, AFirstRunAndARestartNeedNothing) {
  for (int run = 0; run < 2; ++run) {
    const auto pool = MakePool();
    ASSERT_TRUE(Migrate(*pool, PlatformMigrations(), Soon()).ok());
    EXPECT_TRUE(Run(*pool, "CREATE TABLE run" + std::to_string(run) + " ()"));
    EXPECT_TRUE(watch_->Check().ok());
  }
  const auto accepted = AcceptSystem(url_, "");
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(*accepted, "");  // there is nothing to accept
}

TEST_F(PostgresPrimary, ARestoredDatabaseIsUsedOnceItsSystemIsAccepted) {
  const auto pool = MakePool();
  ASSERT_TRUE(Migrate(*pool, PlatformMigrations(), Soon()).ok());
  PretendToBeRestored();
  ASSERT_TRUE(Eventually([&] { return !watch_->Check().ok(); }));
  EXPECT_THAT(std::string(watch_->Check().message()), HasSubstr("--accept-system"));
  EXPECT_FALSE(Run(*pool, "CREATE TABLE refused ()"));

  const auto accepted = AcceptSystem(url_, "");
  ASSERT_TRUE(accepted.ok());
  EXPECT_NE(*accepted, "");
  EXPECT_TRUE(Eventually([&] { return Run(*pool, "CREATE TABLE accepted ()"); }));
}

TEST_F(PostgresPrimary, AConnectionRunsNoStatementOnceThereIsAnotherPrimary) {
  const auto pool = MakePool();
  ASSERT_TRUE(Migrate(*pool, PlatformMigrations(), Soon()).ok());
  const Status status = pool->Write(Soon(), [&](Session& session) {
    session.ExecuteText("CREATE TABLE left_behind ()");
    PretendToBeRestored();
    EXPECT_TRUE(Eventually([&] { return !watch_->Check().ok(); }));
    session.ExecuteText("SELECT 1");
    return OkStatus();
  });
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
}

TEST_F(PostgresPrimary, AnAnswerThatCameAfterTheChangeDoesNotCount) {
  const auto pool = MakePool();
  ASSERT_TRUE(Migrate(*pool, PlatformMigrations(), Soon()).ok());
  const auto before = watch_->Current({});
  ASSERT_TRUE(before.ok());
  const Deadline now = steady_clock::now();
  EXPECT_TRUE(watch_->AwaitConfirmed(before->generation, now, now, Deadline::max()).ok());
  // A long silence asks the server anew.
  const Deadline long_ago = now - 2 * PrimaryWatch::kSilence;
  EXPECT_TRUE(watch_->AwaitConfirmed(before->generation, long_ago, now, Deadline::max()).ok());
  PretendToBeRestored();
  ASSERT_TRUE(Eventually([&] { return !watch_->Check().ok(); }));
  EXPECT_FALSE(watch_->Confirmed(before->generation, now, now));
  EXPECT_EQ(watch_->AwaitConfirmed(before->generation, now, now, Deadline::max()).code(),
            StatusCode::kUnavailable);
}

TEST_F(PostgresPrimary, TheSessionsEpochIsTheLogsEpoch) {
  for (const bool watched : {false, true}) {
    const auto pool = MakePool(watched);
    ASSERT_TRUE(Run(*pool, watched ? "SELECT" : "CREATE SCHEMA demo;" + LogStreamsDdl("demo")));
    const Status status = pool->Read(Soon(), [](Session& session) -> Status {
      WINNOW_ASSIGN_OR_RETURN(const Head head, ReadHead(session, {"demo", "s"}));
      EXPECT_EQ(session.epoch(), head.epoch);
      EXPECT_EQ(session.epoch(), head.epoch);  // remembered
      return OkStatus();
    });
    EXPECT_TRUE(status.ok());
  }
}

}  // namespace
}  // namespace winnow::pg
