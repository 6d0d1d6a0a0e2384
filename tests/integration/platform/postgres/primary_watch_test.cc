#include "services/platform/postgres/primary/primary_watch.h"

#include <gmock/gmock.h>

#include <future>

#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/pool/endpoint.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/schema/accepted_systems.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

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
        .Transaction(Soon(),
                     [&](Session& session) {
                       session.ExecuteText(sql);
                       return OkStatus();
                     })
        .ok();
  }

  static std::string AskText(Pool& pool, const std::string& sql) {
    std::string text;
    const Status status = pool.Statements(Soon(), [&](Session& session) {
      text = session.ExecuteText(sql)[0][0].c_str();
      return OkStatus();
    });
    EXPECT_TRUE(status.ok());
    return text;
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
  const Status status = pool->Transaction(Soon(), [&](Session& session) {
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

TEST_F(PostgresPrimary, AConnectThatHangsIsAbandonedWhenThePrimaryChanges) {
  const auto pool = MakePool();
  ASSERT_TRUE(Migrate(*pool, PlatformMigrations(), Soon()).ok());
  const auto endpoint = MakeEndpoint(url_, "", "winnow-test", watch_);
  ASSERT_TRUE(endpoint.ok());
  std::future<std::string> failure;
  const auto other = MakePool(false);
  const Status status = other->Transaction(Soon(), [&](Session& holder) {
    // Every new connection waits for this table while it logs in.
    holder.ExecuteText("LOCK TABLE pg_db_role_setting IN ACCESS EXCLUSIVE MODE");
    failure = std::async(std::launch::async, [&]() -> std::string {
      try {
        ConnectUnlessStopped(*endpoint, {});
        return "";
      } catch (const std::exception& e) {
        return e.what();
      }
    });
    EXPECT_EQ(failure.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
    EXPECT_TRUE(Run(*pool, "UPDATE platform.accepted_systems SET system_identifier = 1"));
    EXPECT_EQ(failure.wait_for(std::chrono::seconds(3)), std::future_status::ready);
    return OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_THAT(failure.get(), HasSubstr("--accept-system"));
}

TEST_F(PostgresPrimary, AnOnlyHostThatRefusesTheWatchIsAskedOnThePoolsConnections) {
  const auto pool = MakePool();
  ASSERT_TRUE(Run(*pool, "CREATE TABLE before ()"));
  const std::string name = AskText(*pool, "SELECT current_database()");
  const std::string backend = AskText(*pool, "SELECT pg_backend_pid()");
  Pool elsewhere({.name = "elsewhere", .url = test::Postgres::Instance().NewDatabase()}, metrics_);
  ASSERT_TRUE(Run(elsewhere, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS false"));
  ASSERT_TRUE(
      Run(elsewhere, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" +
                         name + "' AND application_name = 'winnow-primary'"));
  const Deadline until = steady_clock::now() + 2 * PrimaryWatch::kLease;
  for (int table = 0; steady_clock::now() < until; ++table) {
    ASSERT_TRUE(Run(*pool, "CREATE TABLE during" + std::to_string(table) + " ()")) << table;
  }
  EXPECT_TRUE(Run(*pool, "SELECT pg_sleep(0.5)"));  // a silence
  EXPECT_TRUE(watch_->Check().ok());
  EXPECT_EQ(AskText(*pool, "SELECT pg_backend_pid()"), backend);
  ASSERT_TRUE(Run(elsewhere, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS true"));
  EXPECT_TRUE(Eventually([&] {
    const Deadline now = steady_clock::now();
    return watch_->Confirmed(watch_->generation()->load(), now, now);
  }));
}

TEST_F(PostgresPrimary, TheSessionsEpochIsTheLogsEpoch) {
  for (const bool watched : {false, true}) {
    const auto pool = MakePool(watched);
    ASSERT_TRUE(Run(*pool, watched ? "SELECT" : "CREATE SCHEMA demo;" + LogStreamsDdl("demo")));
    const Status status = pool->Statements(Soon(), [](Session& session) -> Status {
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
