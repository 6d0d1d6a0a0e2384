#include "services/platform/postgres/log/sequencer.h"

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/integration/platform/postgres/commit_log_fixture.h"

// Rows are committed in any order and in any process; their positions are not.
namespace winnow::pg {
namespace {

using test::Eventually;

const Sequence kRows = {{"test", "rows"}, "rows", "id"};
constexpr Statement kInsertRow = {"test.row_insert",
                                  "INSERT INTO test.rows (writer) VALUES ($1) RETURNING id"};
constexpr Statement kReadRows = {"test.row_read",
                                 "SELECT position, id FROM test.rows WHERE position > $1 AND "
                                 "position <= $2 ORDER BY position LIMIT $3"};

class SequencerTest : public CommitLogTest {
 protected:
  SequencerTest() {
    EXPECT_TRUE(Execute(*pool_,
                        "CREATE TABLE test.rows (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
                        "KEY, writer integer NOT NULL, position bigint);"
                        "CREATE INDEX ON test.rows (id) WHERE position IS NULL;"
                        "CREATE UNIQUE INDEX ON test.rows (position) WHERE position IS NOT NULL")
                    .ok());
  }

  static StatusOr<int64_t> Insert(
      Pool& pool, int writer, const std::function<void()>& before_commit = [] {}) {
    return pool.Transaction(Soon(), [&](Session& session) -> StatusOr<int64_t> {
      const int64_t id = session.Execute(kInsertRow, writer)[0][0].as<int64_t>();
      before_commit();
      return id;
    });
  }

  std::vector<int64_t> IdsByPosition() {
    const auto ids = pool_->Statements(Soon(), [](Session& session) {
      std::vector<int64_t> found;
      for (const auto& row : session.Execute(kReadRows, 0, INT64_MAX, 1'000'000)) {
        found.push_back(row[1].as<int64_t>());
      }
      return StatusOr<std::vector<int64_t>>(found);
    });
    EXPECT_TRUE(ids.ok()) << ids.status();
    return ids.value_or(std::vector<int64_t>{});
  }

  int64_t Number(Sequencer& sequencer) {
    const auto numbered = sequencer.NumberSome(Soon());
    EXPECT_TRUE(numbered.ok()) << numbered.status();
    return numbered.value_or(-1);
  }
};

TEST_F(SequencerTest, NumbersRowsThatHaveNone) {
  Sequencer sequencer(*pool_, kRows);
  EXPECT_EQ(Number(sequencer), 0);
  ASSERT_TRUE(Insert(*pool_, 1).ok());
  ASSERT_TRUE(Insert(*pool_, 1).ok());
  EXPECT_EQ(Number(sequencer), 2);
  EXPECT_EQ(Number(sequencer), 0);
  EXPECT_EQ(IdsByPosition(), (std::vector<int64_t>{1, 2}));
}

TEST_F(SequencerTest, ARowCommittedLateComesAfterThoseThatWereSeen) {
  Sequencer sequencer(*pool_, kRows);
  const auto early = Insert(*pool_, 1, [&] {
    ASSERT_TRUE(Insert(*pool_, 2).ok());  // id 2, committed first
    EXPECT_EQ(Number(sequencer), 1);
  });
  ASSERT_TRUE(early.ok());
  EXPECT_EQ(Number(sequencer), 1);
  EXPECT_EQ(IdsByPosition(), (std::vector<int64_t>{2, 1}));
}

TEST_F(SequencerTest, PositionsAreNotGivenAgainAfterRowsAreDeleted) {
  Sequencer sequencer(*pool_, kRows);
  ASSERT_TRUE(Insert(*pool_, 1).ok());
  ASSERT_TRUE(Insert(*pool_, 1).ok());
  EXPECT_EQ(Number(sequencer), 2);
  ASSERT_TRUE(Execute(*pool_, "DELETE FROM test.rows").ok());
  ASSERT_TRUE(Insert(*pool_, 1).ok());
  EXPECT_EQ(Number(sequencer), 1);
  const auto head =
      pool_->Statements(Soon(), [](Session& session) { return ReadHead(session, kRows.stream); });
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->head, 3);
}

TEST_F(SequencerTest, MoreRowsThanATransactionTakesAreNumberedInOrder) {
  ASSERT_TRUE(
      Execute(*pool_, "INSERT INTO test.rows (writer) SELECT 1 FROM generate_series(1, 2500)")
          .ok());
  Sequencer sequencer(*pool_, kRows);
  EXPECT_EQ(Number(sequencer), 1000);
  EXPECT_EQ(Number(sequencer), 1000);
  EXPECT_EQ(Number(sequencer), 500);
  const std::vector<int64_t> ids = IdsByPosition();
  EXPECT_EQ(ids.size(), 2500u);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

// What one reader saw.
struct Seen {
  std::mutex mutex;
  std::vector<int64_t> ids;
  int64_t last = 0;
  int out_of_order = 0;
};

Tailer::Apply ReadInto(Seen& seen) {
  return [&seen](Session& session, int64_t after, int64_t until, int limit) -> StatusOr<int64_t> {
    const pqxx::result rows = session.Execute(kReadRows, after, until, limit);
    const std::lock_guard lock(seen.mutex);
    int64_t last = after;
    for (const auto& row : rows) {
      last = row[0].as<int64_t>();
      if (last != seen.last + 1) ++seen.out_of_order;
      seen.last = last;
      seen.ids.push_back(row[1].as<int64_t>());
    }
    return std::ssize(rows) < limit ? until : last;
  };
}

TEST_F(SequencerTest, NoReaderMissesOrRepeatsARow) {
  constexpr int kWriters = 4;
  constexpr int kRowsEach = 150;
  const auto sequencer_pools = std::array{MakePool(), MakePool()};
  Sequencer first(*sequencer_pools[0], kRows);
  Sequencer second(*sequencer_pools[1], kRows);
  Seen seen[2];
  const auto no_reload = [](Session&) -> StatusOr<Head> { return Internal("nothing to reload"); };
  Tailer early(*pool_, {.stream = kRows.stream, .batch = 7}, ReadInto(seen[0]), no_reload);
  Tailer late(*pool_, {.stream = kRows.stream}, ReadInto(seen[1]), no_reload);
  first.Start();
  second.Start();
  early.Start();
  // Transactions of very different length, some rolled back, and connections that are killed.
  std::atomic<bool> writing = true;
  std::vector<std::set<int64_t>> committed(kWriters);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      Metrics metrics;
      Pool pool({.name = "writer", .url = url_, .password = "", .connections = 1}, metrics);
      std::minstd_rand random(static_cast<unsigned>(w + 1));
      while (std::ssize(committed[static_cast<size_t>(w)]) < kRowsEach) {
        const auto id = Insert(pool, w, [&] {
          for (unsigned i = 0; i < random() % 2000; ++i) std::this_thread::yield();
        });
        if (id.ok()) committed[static_cast<size_t>(w)].insert(*id);
        (random() % 2 == 0 ? first : second).Wake();
      }
    });
  }
  int kills = 0;
  std::thread killer([&] {
    while (writing) {
      // Also sequencers and tailers: every backend that holds the stream's lock or waits for it.
      // The killer's own next connection may be among them.
      const Status killed =
          Execute(*pool_,
                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                  "current_database() AND pid <> pg_backend_pid() AND backend_type = "
                  "'client backend' AND random() < 0.02");
      if (killed.ok()) ++kills;
      std::this_thread::yield();
    }
  });
  for (std::thread& writer : writers) writer.join();
  writing = false;
  killer.join();
  EXPECT_GT(kills, 0);
  late.Start();
  std::set<int64_t> all;
  for (const auto& ids : committed) all.insert(ids.begin(), ids.end());
  // A killed connection may have committed a row whose writer never heard of it.
  const auto stored = pool_->Statements(Soon(), [](Session& session) {
    return StatusOr<int64_t>(
        session.ExecuteText("SELECT count(*) FROM test.rows")[0][0].as<int64_t>());
  });
  ASSERT_TRUE(stored.ok());
  for (Tailer* tailer : {&early, &late}) {
    EXPECT_TRUE(Eventually([&] { return tailer->position() >= *stored; }));
    tailer->Stop();
  }
  for (Seen& each : seen) {
    EXPECT_EQ(each.out_of_order, 0);
    EXPECT_EQ(std::ssize(each.ids), *stored);
    const std::set<int64_t> read(each.ids.begin(), each.ids.end());
    EXPECT_EQ(read.size(), each.ids.size());
    for (const int64_t id : all) EXPECT_TRUE(read.contains(id)) << id;
  }
}

}  // namespace
}  // namespace winnow::pg
