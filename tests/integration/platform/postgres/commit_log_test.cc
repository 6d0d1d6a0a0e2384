#include <latch>
#include <mutex>
#include <thread>

#include "tests/integration/platform/postgres/commit_log_fixture.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::Eventually;
using testing::ElementsAre;
using testing::HasSubstr;

Head HeadOf(Pool& pool) {
  const auto head =
      pool.Statements(steady_clock::now() + std::chrono::seconds(60),
                      [](Session& session) { return ReadHead(session, kTestStream); });
  EXPECT_TRUE(head.ok()) << head.status().message();
  return head.ok() ? *head : Head{};
}

TEST_F(CommitLogTest, NumbersFromOneWithoutAGap) {
  EXPECT_EQ(HeadOf(*pool_).head, 0);
  EXPECT_EQ(AppendIds(*pool_, {"a", "b"}, Soon())->head, 2);
  EXPECT_EQ(AppendIds(*pool_, {"c"}, Soon())->head, 3);
  const auto refused = AppendIds(*pool_, {"d"}, Soon(),
                                 [](LogSession&) -> Status { return FailedPrecondition("no"); });
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(AppendIds(*pool_, {"d"}, Soon())->head, 4);
  EXPECT_EQ(HeadOf(*pool_).head, 4);
}

TEST_F(CommitLogTest, RetentionDoesNotMakeNumbersRepeat) {
  ASSERT_TRUE(AppendIds(*pool_, {"a", "b"}, Soon()).ok());
  ASSERT_TRUE(Execute(*pool_, "DELETE FROM test.log").ok());
  EXPECT_EQ(AppendIds(*pool_, {"c"}, Soon())->head, 3);
}

TEST_F(CommitLogTest, StreamsAreIndependent) {
  const Stream other = {"test", "other"};
  EXPECT_EQ(AppendIds(*pool_, {"a"}, Soon())->head, 1);
  EXPECT_EQ(AppendIds(*pool_, {"b"}, Soon(), {}, other)->head, 1);
}

TEST_F(CommitLogTest, SeesEveryRowOfTheHolderItWaitedForWhateverTheDefaultIsolation) {
  ASSERT_TRUE(Execute(*pool_,
                      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "
                      "default_transaction_isolation = ''repeatable read''', "
                      "current_database()); END $$")
                  .ok());
  const auto first = MakePool();
  const auto second = MakePool();
  std::latch holding(1);
  std::thread holder([&] {
    const auto done = AppendIds(*first, {"a"}, Soon(), [&](LogSession&) {
      holding.count_down();
      // Until the other one waits for the lock.
      EXPECT_TRUE(Eventually([&] {
        return pool_
            ->Statements(
                Soon(),
                [](Session& session) -> StatusOr<bool> {
                  return !session
                              .ExecuteText(
                                  "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database "
                                  "WHERE datname = current_database() AND "
                                  "locktype = 'advisory' AND NOT granted")
                              .empty();
                })
            .value_or(false);
      }));
      return OkStatus();
    });
    EXPECT_TRUE(done.ok());
  });
  holding.wait();
  const auto done = AppendIds(*second, {"b"}, Soon(), [](LogSession& log) {
    EXPECT_STREQ(log.session().ExecuteText("SELECT count(*) FROM test.log")[0][0].c_str(), "2");
    return OkStatus();
  });
  holder.join();
  EXPECT_EQ(done->head, 2);
}

TEST_F(CommitLogTest, ALockNotGotInTimeIsUnavailable) {
  std::latch holding(1);
  std::latch release(1);
  std::thread holder([&] {
    const auto other = MakePool();
    ASSERT_TRUE(AppendIds(*other, {"a"}, Soon(), [&](LogSession& log) {
                  log.session().ExecuteText("SET LOCAL idle_in_transaction_session_timeout = 0");
                  holding.count_down();
                  release.wait();
                  return OkStatus();
                }).ok());
  });
  holding.wait();
  const auto late = AppendIds(*pool_, {"b"}, steady_clock::now() + milliseconds(1500));
  EXPECT_EQ(late.status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(RetryAfterOf(late.status()).has_value());
  release.count_down();
  holder.join();
}

TEST_F(CommitLogTest, AStoppedHolderIsPutOutAsSoonThroughATransactionPooler) {
  const auto pooled = MakePool(1, "&pooling=transaction");
  for (Pool* pool : {pool_.get(), pooled.get()}) {
    ASSERT_TRUE(AppendIds(*pool, {pool == pooled.get() ? "a" : "b"}, Soon(), [](LogSession& log) {
                  const auto limit =
                      log.session().ExecuteText("SHOW idle_in_transaction_session_timeout");
                  EXPECT_STREQ(limit[0][0].c_str(), "2s");
                  return OkStatus();
                }).ok());
  }
}

TEST_F(CommitLogTest, AStoppedHolderIsPutOutAndItsRowsAreNotThere) {
  std::latch holding(1);
  std::latch release(1);
  std::thread holder([&] {
    const auto other = MakePool();
    const auto done = AppendIds(*other, {"stopped"}, Soon(), [&](LogSession&) {
      holding.count_down();
      release.wait();
      return OkStatus();
    });
    EXPECT_EQ(done.status().code(), StatusCode::kUnavailable);
  });
  holding.wait();
  EXPECT_EQ(AppendIds(*pool_, {"a"}, Soon())->head, 1);
  release.count_down();
  holder.join();
}

TEST_F(CommitLogTest, OneTransactionPerPoolAndStreamIsInFlight) {
  std::atomic<int> inside = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&, i] {
      const auto done = AppendIds(*pool_, {std::to_string(i)}, Soon(), [&](LogSession& log) {
        EXPECT_EQ(++inside, 1);
        EXPECT_STREQ(log.session()
                         .ExecuteText("SELECT count(*) FROM pg_locks JOIN pg_database d ON "
                                      "d.oid = database WHERE datname = current_database() AND "
                                      "locktype = 'advisory'")[0][0]
                         .c_str(),
                     "1");
        --inside;
        return OkStatus();
      });
      EXPECT_TRUE(done.ok());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(HeadOf(*pool_).head, 6);
}

TEST_F(CommitLogTest, AnUnknownCommitThatDidNotHappenRunsAgain) {
  ASSERT_TRUE(Execute(*pool_,
                      "CREATE FUNCTION test.die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                      "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$")
                  .ok());
  int runs = 0;
  const auto done = AppendIds(*pool_, {"a", "b"}, Soon(), [&](LogSession& log) {
    if (++runs == 1) {
      // Deferred to the COMMIT, which therefore fails with a lost connection.
      log.session().ExecuteText(
          "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON test.log DEFERRABLE INITIALLY DEFERRED "
          "FOR EACH ROW EXECUTE FUNCTION test.die()");
      log.session().ExecuteText("INSERT INTO test.log VALUES ('other', 1, 'x')");
    }
    return OkStatus();
  });
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(runs, 2);  // it had not happened: settled as not committed, and run again
  EXPECT_FALSE(done->settled_later);
  EXPECT_EQ(done->head, 2);
}

TEST_F(CommitLogTest, AnUnknownCommitIsSettledByTheRowsIds) {
  int settle_calls = 0;
  int runs = 0;
  const auto kill_own_backend = [](Session& session) {
    session.ExecuteText(
        "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON test.log DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION test.die()");
    session.ExecuteText("INSERT INTO test.log VALUES ('other', 1, 'x')");
  };
  ASSERT_TRUE(Execute(*pool_,
                      "CREATE FUNCTION test.die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                      "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$")
                  .ok());
  const auto done = LogTransaction::Run(
      *pool_, kTestStream, Soon(),
      [&](LogSession& log) {
        ++runs;
        kill_own_backend(log.session());
        return OkStatus();
      },
      [&](Session&) -> StatusOr<bool> {
        ++settle_calls;
        return true;  // as if the rows were found
      });
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_TRUE(done->settled_later);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(settle_calls, 1);
}

TEST_F(CommitLogTest, RefusesSynchronousCommitOff) {
  const auto off = MakePool(1, "&options=-csynchronous_commit%3Doff");
  const auto refused = AppendIds(*off, {"a"}, Soon());
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused.status()), HasSubstr("synchronous_commit"));
}

TEST_F(CommitLogTest, RefusesMoreRowsThanATransactionMayAppend) {
  EXPECT_TRUE(AppendIds(*pool_, std::vector<std::string>(), Soon()).ok());
  std::vector<std::string> ids;
  for (int i = 0; i < 1001; ++i) ids.push_back(std::to_string(i));
  EXPECT_EQ(AppendIds(*pool_, ids, Soon()).status().code(), StatusCode::kInternal);
  ids.pop_back();
  EXPECT_EQ(AppendIds(*pool_, ids, Soon())->head, 1000);
}

TEST_F(CommitLogTest, ArrivalNeverGoesBackAndMayBeTold) {
  const Time future = std::chrono::sys_days(std::chrono::year(2999) / 1 / 1);
  const Time past = std::chrono::sys_days(std::chrono::year(2022) / 1 / 1);
  const auto append = [&](const char* id, const std::function<void(LogSession&)>& check) {
    EXPECT_TRUE(AppendIds(*pool_, {id}, Soon(), [&](LogSession& log) {
                  check(log);
                  return OkStatus();
                }).ok());
  };
  append("a", [&](LogSession& log) { log.RaiseArrival(past); });
  append("b", [&](LogSession& log) {
    EXPECT_EQ(log.last_arrival(), past);
    EXPECT_GT(log.arrival_time(), past);
  });
  append("c", [&](LogSession& log) {
    EXPECT_GT(log.last_arrival(), past);
    log.RaiseArrival(future);
  });
  append("d", [&](LogSession& log) { EXPECT_EQ(log.arrival_time(), future); });
}

// A tailer that keeps what it got.
struct Reader {
  Reader(Pool& pool, TailerOptions options)
      : tailer(pool, std::move(options), ReadRows([this](const LogRow& row) {
                 std::lock_guard lock(mutex);
                 ids.push_back(row.id);
               }),
               [this](Session& session) -> StatusOr<Head> {
                 std::lock_guard lock(mutex);
                 ids.clear();
                 ++reloads;
                 WINNOW_ASSIGN_OR_RETURN(Head head, ReadHead(session, kTestStream));
                 return head;
               }) {}

  std::vector<std::string> Ids() {
    std::lock_guard lock(mutex);
    return ids;
  }

  std::mutex mutex;
  std::vector<std::string> ids;
  std::atomic<int> reloads = 0;
  Tailer tailer;
};

TEST_F(CommitLogTest, ATailerDeliversInOrderInPiecesAndThenAsRowsCome) {
  ASSERT_TRUE(AppendIds(*pool_, {"a", "b", "c", "d", "e"}, Soon()).ok());
  Reader reader(*pool_, {.stream = kTestStream, .from = 1, .epoch = "", .batch = 2});
  reader.tailer.Start();
  EXPECT_TRUE(Eventually([&] { return reader.tailer.position() == 5; }));
  EXPECT_THAT(reader.Ids(), ElementsAre("b", "c", "d", "e"));
  EXPECT_TRUE(Eventually([&] { return reader.tailer.healthy(); }));
  ASSERT_TRUE(AppendIds(*pool_, {"f"}, Soon()).ok());
  EXPECT_TRUE(Eventually([&] { return reader.tailer.position() == 6; }));
  EXPECT_EQ(reader.Ids().back(), "f");
  EXPECT_EQ(reader.reloads, 0);
}

TEST_F(CommitLogTest, ATailerGoesOnAfterTheServerWasRestarted) {
  Reader reader(*pool_, {.stream = kTestStream});
  reader.tailer.Start();
  ASSERT_TRUE(AppendIds(*pool_, {"a"}, Soon()).ok());
  EXPECT_TRUE(Eventually([&] { return reader.tailer.position() == 1; }));
  test::Postgres::Instance().KillAndAwaitRestart();
  ASSERT_TRUE(Eventually([&] { return AppendIds(*pool_, {"b"}, Soon()).ok(); }));
  EXPECT_TRUE(Eventually([&] { return reader.tailer.position() == 2; }));
  EXPECT_THAT(reader.Ids(), ElementsAre("a", "b"));
  EXPECT_EQ(reader.reloads, 0);
}

TEST_F(CommitLogTest, ATailerReloadsUponAnotherEpochOrAHeadBehindIt) {
  ASSERT_TRUE(AppendIds(*pool_, {"a", "b"}, Soon()).ok());
  Reader other_epoch(*pool_, {.stream = kTestStream, .from = 2, .epoch = "before/1"});
  Reader ahead(*pool_, {.stream = kTestStream, .from = 7});
  Reader same(*pool_, {.stream = kTestStream, .from = 2, .epoch = HeadOf(*pool_).epoch});
  for (Reader* reader : {&other_epoch, &ahead, &same}) reader->tailer.Start();
  EXPECT_TRUE(Eventually([&] { return other_epoch.reloads == 1 && ahead.reloads == 1; }));
  ASSERT_TRUE(AppendIds(*pool_, {"c"}, Soon()).ok());
  for (Reader* reader : {&other_epoch, &ahead, &same}) {
    EXPECT_TRUE(Eventually([&] { return reader->tailer.position() == 3; }));
    EXPECT_THAT(reader->Ids(), ElementsAre("c"));
  }
  EXPECT_EQ(same.reloads, 0);
}

}  // namespace
}  // namespace winnow::pg
