#include "services/platform/postgres/pool/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <latch>
#include <thread>

#include "services/platform/process/metrics.h"
#include "tests/support/postgres/mute_postgres.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

Deadline In(milliseconds left) { return steady_clock::now() + left; }
Deadline Soon() { return In(seconds(30)); }

class PostgresPool : public testing::Test {
 protected:
  std::unique_ptr<Pool> MakePool(int connections, const std::string& suffix = "") {
    PoolOptions options;
    options.name = "test" + std::to_string(++pools_);
    options.url = url_ + suffix;
    options.connections = connections;
    return std::make_unique<Pool>(options, metrics_);
  }

  static Status Execute(Pool& pool, const std::string& sql) {
    return pool.Transaction(Soon(), [&](Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
  }

  static StatusOr<std::string> Ask(Pool& pool, const std::string& sql, Deadline deadline = Soon()) {
    return pool.Statements(deadline, [&](Session& session) -> StatusOr<std::string> {
      return std::string(session.ExecuteText(sql)[0][0].c_str());
    });
  }

  std::string url_ = test::Postgres::Instance().NewDatabase();
  Metrics metrics_;
  std::unique_ptr<Pool> pool_ = MakePool(3);
  int pools_ = 0;
};

TEST_F(PostgresPool, PassesEveryTypeThereAndBack) {
  static constexpr Statement kEcho = {
      "test.echo",
      "SELECT $1::text, $2::bigint, $3::bool, $4::float8, $5::timestamptz, $6::text[], $7::bytea, "
      "$8::text, $9::timestamptz"};
  const Time early = std::chrono::sys_days(std::chrono::year(1) / 1 / 1) + Micros(7);
  Array texts;
  texts.Add("a \"b\" \\ {,} NULL 뉴스\n");
  texts.Add("");
  const std::string bytes("\0\x01\xff\\", 4);
  const Status status = pool_->Statements(Soon(), [&](Session& session) {
    for (int i = 0; i < 3; ++i) {  // the first prepares, the others use it
      const pqxx::row row =
          session.Execute(kEcho, "뉴스 'x'", int64_t{1} << 62, true, 0.1, early, texts,
                          ToParameterBytes(bytes), std::optional<std::string>(), std::nullopt)[0];
      EXPECT_STREQ(row[0].c_str(), "뉴스 'x'");
      EXPECT_EQ(row[1].as<int64_t>(), int64_t{1} << 62);
      EXPECT_TRUE(row[2].as<bool>());
      EXPECT_EQ(row[3].as<double>(), 0.1);
      EXPECT_EQ(ToTime(row[4]), early);
      EXPECT_THAT(ToTexts(row[5]), testing::ElementsAre("a \"b\" \\ {,} NULL 뉴스\n", ""));
      EXPECT_EQ(ToBytes(row[6]), bytes);
      EXPECT_TRUE(row[7].is_null());
      EXPECT_EQ(ToOptionalTime(row[8]), std::nullopt);
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(PostgresPool, ReadsTimesInAnyTimeZone) {
  const Time time = std::chrono::sys_days(std::chrono::year(2026) / 2 / 3) + Micros(1'500'000);
  for (const char* zone : {"UTC", "Asia/Seoul", "America/St_Johns", "Asia/Kathmandu"}) {
    const Status status = pool_->Transaction(Soon(), [&](Session& session) {
      session.ExecuteText(std::string("SET LOCAL TimeZone = '") + zone + "'");
      static constexpr Statement kTime = {"test.time", "SELECT $1::timestamptz"};
      EXPECT_EQ(ToTime(session.Execute(kTime, time)[0][0]), time) << zone;
      // Before standard time the offset has seconds.
      const Time old = time - std::chrono::days(366 * 200);
      EXPECT_EQ(ToTime(session.Execute(kTime, old)[0][0]), old) << zone;
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_F(PostgresPool, ReadsTheFirstAndLastTimeWhateverTheDatabasesZone) {
  static constexpr Statement kTime = {"test.time", "SELECT $1::timestamptz"};
  const Time first = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
  const Time last = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1) - Micros(1);
  for (const char* zone : {"America/Los_Angeles", "Asia/Seoul"}) {
    ASSERT_TRUE(Execute(*pool_, std::string("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
                                            "timezone TO %L', current_database(), '") +
                                    zone + "'); END $$")
                    .ok());
    for (const char* pooling : {"", "&pooling=transaction"}) {
      const Status status = MakePool(1, pooling)->Statements(Soon(), [&](Session& session) {
        EXPECT_EQ(ToTime(session.Execute(kTime, first)[0][0]), first) << zone << pooling;
        EXPECT_EQ(ToTime(session.Execute(kTime, last)[0][0]), last) << zone << pooling;
        return OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST_F(PostgresPool, RefusesATextWithNul) {
  static constexpr Statement kText = {"test.text", "SELECT $1::text"};
  const Status status = pool_->Statements(Soon(), [&](Session& session) {
    session.Execute(kText, std::string("a\0b", 3));
    return OkStatus();
  });
  EXPECT_EQ(status.code(), StatusCode::kInternal);
}

TEST_F(PostgresPool, WriteIsReadCommittedWhateverTheDefault) {
  ASSERT_TRUE(Execute(*pool_,
                      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
                      "default_transaction_isolation = serializable', "
                      "current_database()); END $$")
                  .ok());
  const auto fresh = MakePool(1);
  const Status status = fresh->Transaction(Soon(), [&](Session& session) {
    EXPECT_STREQ(session.ExecuteText("SHOW transaction_isolation")[0][0].c_str(), "read committed");
    return OkStatus();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(*Ask(*fresh, "SHOW transaction_isolation"), "read committed");
}

TEST_F(PostgresPool, WriteRollsBackOnErrorAndOnIgnoredFailure) {
  ASSERT_TRUE(Execute(*pool_, "CREATE TABLE t (a int PRIMARY KEY)").ok());
  EXPECT_EQ(pool_
                ->Transaction(Soon(),
                              [](Session& session) -> Status {
                                session.ExecuteText("INSERT INTO t VALUES (1)");
                                return FailedPrecondition("no");
                              })
                .code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(pool_
                ->Transaction(Soon(),
                              [](Session& session) {
                                session.ExecuteText("INSERT INTO t VALUES (2)");
                                EXPECT_THROW(session.ExecuteText("INSERT INTO t VALUES (2)"),
                                             std::exception);
                                return OkStatus();
                              })
                .code(),
            StatusCode::kInternal);
  EXPECT_EQ(*Ask(*pool_, "SELECT count(*) FROM t"), "0");
}

TEST_F(PostgresPool, TriesASerializationFailureThreeTimes) {
  int runs = 0;
  const auto fail_until = [&](int last) {
    runs = 0;
    return pool_->Transaction(Soon(), [&](Session& session) -> StatusOr<int> {
      if (++runs < last) {
        session.ExecuteText("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$");
      }
      return runs;
    });
  };
  EXPECT_EQ(*fail_until(3), 3);
  const auto failed = fail_until(100);
  EXPECT_EQ(failed.status().code(), StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(failed.status()), Reason::kWriteConflict);
  EXPECT_EQ(runs, 3);
}

// As a process that hangs between two statements of a transaction.
TEST_F(PostgresPool, AHangingTransactionLosesItsLocksToWhoWaits) {
  ASSERT_TRUE(Execute(*pool_, "CREATE TABLE taken AS SELECT 0 AS value").ok());
  test::Gate wakes;
  std::latch locked(1);
  auto hanging = std::async(std::launch::async, [&] {
    return pool_->Transaction(In(seconds(60)), [&](Session& session) {
      session.ExecuteText("UPDATE taken SET value = 10 * value + 1");
      locked.count_down();
      wakes.Wait();
      return OkStatus();
    });
  });
  locked.wait();
  EXPECT_TRUE(Execute(*pool_, "UPDATE taken SET value = 10 * value + 2").ok());
  wakes.Open();
  EXPECT_EQ(hanging.get().code(), StatusCode::kUnavailable);
  EXPECT_EQ(*Ask(*pool_, "SELECT value FROM taken"), "2") << "it does not apply its own late";
}

TEST_F(PostgresPool, EndsAStatementThatOutlastsTheDeadline) {
  ASSERT_EQ(*Ask(*pool_, "SELECT 'x'"), "x");  // connected, so that all time is the statement's
  const auto late = Ask(*pool_, "SELECT pg_sleep(600)::text", In(milliseconds(500)));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Ask(*pool_, "SELECT 'x'", steady_clock::now()).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*Ask(*pool_, "SELECT 'x'"), "x");
}

TEST_F(PostgresPool, EndsALateStatementWithoutLosingItsConnection) {
  const auto one = MakePool(1);
  const std::string backend = *Ask(*one, "SELECT pg_backend_pid()");
  const auto late = Ask(*one, "SELECT pg_sleep(600)::text", In(seconds(3)));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*Ask(*one, "SELECT pg_backend_pid()"), backend);
  // Also where it is a later statement of a transaction, whose first had all the time.
  const Status second = one->Transaction(In(seconds(4)), [](Session& session) {
    session.ExecuteText("SELECT pg_sleep(3)");
    session.ExecuteText("SELECT pg_sleep(600)");
    return OkStatus();
  });
  EXPECT_EQ(second.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*Ask(*one, "SELECT pg_backend_pid()"), backend);
  EXPECT_EQ(*Ask(*one, "SELECT pg_sleep(0)::text || 'x'"), "x");
}

TEST_F(PostgresPool, CutsOffAServerThatDoesNotAnswer) {
  const auto one = MakePool(1);
  const pid_t backend = std::stoi(*Ask(*one, "SELECT pg_backend_pid()"));
  kill(backend, SIGSTOP);
  EXPECT_EQ(Ask(*one, "SELECT 'x'", In(milliseconds(500))).status().code(),
            StatusCode::kDeadlineExceeded);
  kill(backend, SIGCONT);
  EXPECT_EQ(*Ask(*one, "SELECT 'x'"), "x");
}

TEST_F(PostgresPool, IsOverloadedWhenNoConnectionComesFree) {
  const auto one = MakePool(1);
  std::latch taken(1);
  std::latch release(1);
  std::thread holder([&] {
    const Status status = one->Statements(Soon(), [&](Session&) {
      taken.count_down();
      release.wait();
      return OkStatus();
    });
    EXPECT_TRUE(status.ok());
  });
  taken.wait();
  const auto refused = Ask(*one, "SELECT 'x'", In(milliseconds(50)));
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryAfterOf(refused.status()).has_value());
  release.count_down();
  holder.join();
  EXPECT_EQ(*Ask(*one, "SELECT 'x'"), "x");
}

TEST_F(PostgresPool, NeverOpensMoreThanItsConnections) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i) {
    callers.emplace_back([&] { EXPECT_TRUE(Ask(*pool_, "SELECT pg_sleep(0.02)::text").ok()); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(std::stoi(*Ask(*pool_,
                           "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                           "current_database() AND backend_type = 'client backend'")),
            3);
}

TEST_F(PostgresPool, ReplacesAConnectionThatWasLostWhileIdle) {
  const auto one = MakePool(1);
  const std::string backend = *Ask(*one, "SELECT pg_backend_pid()");
  const std::string gone = "SELECT count(*) FROM pg_stat_activity WHERE pid = " + backend;
  ASSERT_TRUE(Ask(*pool_, "SELECT pg_terminate_backend(" + backend + ")").ok());
  ASSERT_TRUE(test::Eventually([&] { return *Ask(*pool_, gone) == "0"; }));
  EXPECT_TRUE(Ask(*one, "SELECT 'x'").ok());
}

TEST_F(PostgresPool, IsUnavailableWhileTheServerIsAwayAndRecovers) {
  ASSERT_TRUE(pool_->Check().ok());
  auto& server = test::Postgres::Instance().server();
  const int before = server.restarts();
  kill(server.postmaster_pid(), SIGKILL);
  StatusCode code = StatusCode::kOk;
  EXPECT_TRUE(test::Eventually([&] {
    code = Ask(*pool_, "SELECT 'x'").status().code();
    return code != StatusCode::kOk || server.restarts() > before;
  }));
  EXPECT_TRUE(code == StatusCode::kUnavailable || code == StatusCode::kOk);
  EXPECT_TRUE(test::Eventually([&] { return Ask(*pool_, "SELECT 'x'").ok(); }));
  EXPECT_TRUE(pool_->Check().ok());
}

TEST_F(PostgresPool, AnUnreachableServerIsUnavailableNotAHang) {
  PoolOptions options;
  options.name = "nowhere";
  options.url = "postgresql://u@/d?host=/nonexistent";
  Pool nowhere(options, metrics_);
  for (int i = 0; i < 2; ++i) {
    const auto refused = Ask(nowhere, "SELECT 'x'");
    EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(ReasonOf(refused.status()), Reason::kStoreUnavailable);
    EXPECT_THAT(Message(refused.status()), Not(HasSubstr("nonexistent")));
  }
  EXPECT_FALSE(nowhere.Check().ok());
}

// As a pooler does while its PostgreSQL is away.
TEST_F(PostgresPool, AServerThatFallsSilentAfterTheLoginIsAwayAndHoldsNoStopUp) {
  const test::MutePostgres mute;
  PoolOptions options;
  options.name = "mute";
  options.url = mute.url();
  options.connections = 2;
  {
    Pool pool(options, metrics_);
    EXPECT_EQ(Ask(pool, "SELECT 1").status().code(), StatusCode::kUnavailable);
    EXPECT_GE(mute.logins(), 1);
    EXPECT_TRUE(test::Eventually([&] { return mute.logins() >= 2; }));  // and stalls again
  }
}

TEST_F(PostgresPool, LeavesNothingBehindThroughATransactionPooler) {
  const auto pooled = MakePool(1, "&pooling=transaction");
  static constexpr Statement kSum = {"test.sum", "SELECT $1::int + 1"};
  const auto run = [&](Session& session) -> StatusOr<int> {
    return session.Execute(kSum, 1)[0][0].as<int>();
  };
  EXPECT_EQ(*pooled->Statements(Soon(), run), 2);
  EXPECT_EQ(*pooled->Transaction(Soon(), run), 2);
  EXPECT_EQ(*Ask(*pooled, "SELECT count(*) FROM pg_prepared_statements"), "0");
  EXPECT_EQ(*Ask(*pooled, "SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout'"),
            "0");
  const auto late = Ask(*pooled, "SELECT pg_sleep(600)::text", In(milliseconds(500)));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PostgresPool, WhatACallerSeesHoldsNoDriverText) {
  ASSERT_TRUE(Execute(*pool_, "CREATE TABLE t (title text UNIQUE)").ok());
  ASSERT_TRUE(Execute(*pool_, "INSERT INTO t VALUES ('confidential')").ok());
  const Status taken = Execute(*pool_, "INSERT INTO t VALUES ('confidential')");
  EXPECT_EQ(taken.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(Message(taken), Not(HasSubstr("confidential")));
}

}  // namespace
}  // namespace winnow::pg
