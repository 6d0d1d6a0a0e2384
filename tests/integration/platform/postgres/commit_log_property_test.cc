#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <list>
#include <random>
#include <set>

#include "services/platform/postgres/server/process.h"
#include "services/platform/process/fd.h"
#include "tests/integration/platform/postgres/commit_log_fixture.h"
#include "tests/support/process/temp_dir.h"

// The proof of the commit-ordered log: writers in processes of their own are stopped, killed and
// cut off from a server that restarts, rows fall to retention, and still no reader ever misses or
// repeats a row, and nothing acknowledged is lost.
namespace winnow::pg {
namespace {

using test::Eventually;

// A writer process; what it acknowledged stands in its file.
class Writer {
 public:
  Writer(const std::string& url, const std::string& name, const std::string& dir)
      : name_(name), ack_path_(dir + "/" + name) {
    const auto binary =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "commit_log_writer";
    Command command = {{binary.string(), url, name},
                       {.uid = geteuid(), .gid = getegid(), .name = "", .home = ""}};
    const Fd acks = Fd::AboveStandardStreams(
        open(ack_path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
    command.output_fd = acks.get();
    const StatusOr<pid_t> pid = Spawn(command);
    EXPECT_TRUE(pid.ok()) << pid.status().message();
    pid_ = pid.value_or(0);
  }
  ~Writer() { Kill(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Stop() const { kill(pid_, SIGSTOP); }
  void Continue() const { kill(pid_, SIGCONT); }
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    Reap(std::exchange(pid_, 0));
  }
  // Whole lines only, for a kill may have cut the last one; and ids only, for the driver's last
  // words on a server that died come the same way.
  std::vector<std::string> Acknowledged() const {
    std::ifstream in(ack_path_);
    std::vector<std::string> ids;
    for (std::string line; std::getline(in, line) && !in.eof();) {
      if (line.starts_with(name_ + "-")) ids.push_back(line);
    }
    return ids;
  }

 private:
  const std::string name_;
  const std::string ack_path_;
  pid_t pid_ = 0;
};

// Follows the log and checks each row as it comes.
class Reader {
 public:
  Reader(Pool& pool, int64_t from)
      : from_(from),
        last_(from),
        tailer_(pool, {.stream = kTestStream, .from = from, .batch = 37},
                ReadRows([this](LogRow row) { Take(std::move(row)); }),
                [](Session&) -> StatusOr<Head> {
                  return Internal("nothing calls for a reload here");
                }) {
    tailer_.Start();
  }
  int64_t position() const { return tailer_.position(); }
  void Stop() { tailer_.Stop(); }

  // After Stop().
  int64_t from() const { return from_; }
  int64_t last() const { return last_; }
  int out_of_order() const { return out_of_order_; }
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  void Take(LogRow row) {
    if (row.seq != last_ + 1) ++out_of_order_;
    last_ = row.seq;
    ids_.push_back(std::move(row.id));
  }

  const int64_t from_;
  int64_t last_;
  int out_of_order_ = 0;
  std::vector<std::string> ids_;
  Tailer tailer_;
};

class CommitLogProperty : public CommitLogTest {
 protected:
  static constexpr int kWriters = 4;
  static constexpr int kSteps = 24;

  void AddWriter() {
    writers_.push_back(
        std::make_unique<Writer>(url_, "w" + std::to_string(writers_.size()), acks_.path()));
    live_.push_back(writers_.back().get());
  }

  void KillAWriter() {
    const size_t victim = random_() % live_.size();
    live_[victim]->Kill();
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(victim));
    AddWriter();
  }

  void StopAWriter() {
    Writer* victim = live_[random_() % live_.size()];
    victim->Stop();
    AwaitProgress(40);  // without it; if it held the lock, after it was put out
    victim->Continue();
  }

  // Rows that every reader has may go, once their writer knows of its commit: it settles one that
  // it does not know of by looking for the rows.
  void Retain() {
    int64_t read_by_all = readers_.front().position();
    for (const Reader& reader : readers_) read_by_all = std::min(read_by_all, reader.position());
    Array acknowledged;
    for (const auto& writer : writers_) {
      for (const std::string& id : writer->Acknowledged()) acknowledged.Add(id);
    }
    EXPECT_TRUE(Eventually([&] {
      return Execute(*pool_, "DELETE FROM test.log WHERE seq <= " + std::to_string(read_by_all) +
                                 " AND id = ANY ('" + acknowledged.ToString() + "'::text[])")
          .ok();
    }));
  }

  void AwaitProgress(int64_t rows) {
    const int64_t goal = readers_.front().position() + rows;
    EXPECT_TRUE(Eventually([&] { return readers_.front().position() >= goal; }));
  }

  void Disturb(int step) {
    if (step % 12 == 5) return test::Postgres::Instance().KillAndAwaitRestart();
    if (step % 8 == 3) return StopAWriter();
    if (step % 3 == 0) return KillAWriter();
    if (step % 3 == 1) return Retain();
    if (readers_.size() < 4) {
      reader_pools_.push_back(MakePool());
      readers_.emplace_back(*reader_pools_.back(), readers_.front().position());
    }
  }

  void CheckReaders(int64_t head) {
    const std::vector<std::string>& all = readers_.front().ids();
    EXPECT_EQ(std::ssize(all), head);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
    for (const Reader& reader : readers_) {
      EXPECT_EQ(reader.out_of_order(), 0);
      EXPECT_EQ(reader.last(), head);
      EXPECT_TRUE(std::equal(reader.ids().begin(), reader.ids().end(), all.begin() + reader.from(),
                             all.end()));
    }
  }

  void CheckNothingAcknowledgedIsLost() {
    const std::set<std::string> read(readers_.front().ids().begin(), readers_.front().ids().end());
    size_t acknowledged = 0;
    for (const auto& writer : writers_) {
      for (const std::string& id : writer->Acknowledged()) {
        ++acknowledged;
        EXPECT_TRUE(read.contains(id)) << id;
      }
    }
    EXPECT_GT(acknowledged, 0u);
  }

  test::TempDir acks_{"acknowledged"};
  std::minstd_rand random_{20260211};
  std::vector<std::unique_ptr<Writer>> writers_;  // all that ever were
  std::vector<Writer*> live_;
  std::vector<std::unique_ptr<Pool>> reader_pools_;
  std::list<Reader> readers_;
};

TEST_F(CommitLogProperty, NoReaderEverMissesOrRepeatsARow) {
  readers_.emplace_back(*pool_, 0);
  for (int i = 0; i < kWriters; ++i) AddWriter();
  for (int step = 0; step < kSteps; ++step) {
    AwaitProgress(20);
    Disturb(step);
  }
  for (Writer* writer : live_) writer->Kill();
  // A killed writer's backend may still commit: under the lock, nobody does.
  StatusOr<LogTransaction::Committed> end = Internal("not tried");
  EXPECT_TRUE(Eventually([&] {
    end = AppendIds(*pool_, {"end"}, Soon());
    return end.ok();
  }));
  for (Reader& reader : readers_) {
    EXPECT_TRUE(Eventually([&] { return reader.position() == end->head; }));
    reader.Stop();
  }
  CheckReaders(end->head);
  CheckNothingAcknowledgedIsLost();
}

}  // namespace
}  // namespace winnow::pg
