#include <cstdlib>
#include <fstream>
#include <future>
#include <pqxx/pqxx>
#include <stop_token>

#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/process.h"
#include "services/platform/postgres/server/programs.h"
#include "services/platform/postgres/server/supervisor.h"
#include "tests/integration/platform/postgres/private_postgres_fixture.h"

// Who may run the cluster, what happens when somebody dies, and how it ends.
namespace winnow::pg {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

Programs InstalledPrograms(const Account& account) { return FindPrograms({}, account).at(0); }

TEST_F(PrivatePostgresTest, RefusesASecondWinnowOnTheDirectory) {
  CopyCluster();
  Holder holder(data_dir_);
  holder.AwaitPostmaster();
  EXPECT_THAT(StartError(Options()),
              AllOf(HasSubstr("in use by another Winnow (process "), HasSubstr("--data-dir")));
}

TEST_F(PrivatePostgresTest, RefusesASecondOneInTheSameProcess) {
  CopyCluster();
  auto first = StartOrFail(Options());
  EXPECT_THAT(StartError(Options()), HasSubstr("in use by another Winnow"));
}

TEST_F(PrivatePostgresTest, EndsWithItsWinnowAlsoWhenAForeignClientIsConnected) {
  CopyCluster();
  Holder holder(data_dir_);
  const pid_t postmaster = holder.AwaitPostmaster();
  pqxx::connection foreign(
      SocketUrl(fs::canonical(data_dir_).string() + "/run", "winnow", "winnow"));
  holder.Kill();
  EXPECT_TRUE(Eventually([&] { return !IsAlive(postmaster); }));
}

TEST_F(PrivatePostgresTest, StartsRightAfterAKillWithWhatWasCommitted) {
  CopyCluster();
  Holder holder(data_dir_);
  holder.AwaitPostmaster();
  ASSERT_TRUE(CreateDatabase(SocketUrl(data_dir_ + "/run", "winnow", "winnow"), "committed").ok());
  holder.Kill();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  pqxx::connection connection(postgres->UrlOf("committed"));
}

TEST_F(PrivatePostgresTest, ThePostmasterHoldsTheDirectoryAfterItsWinnowIsKilled) {
  CopyCluster();
  Holder holder(data_dir_);
  const pid_t postmaster = holder.AwaitPostmaster();
  kill(postmaster, SIGSTOP);
  holder.Kill();
  PrivatePostgresOptions options = Options();
  options.old_server_limit = std::chrono::milliseconds(300);
  EXPECT_THAT(StartError(options),
              AllOf(HasSubstr("does not end"), HasSubstr("process " + std::to_string(postmaster))));
  kill(postmaster, SIGCONT);
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

TEST_F(PrivatePostgresTest, StartsAfterItsWinnowWasKilledInTheMiddleOfInitdb) {
  Holder holder(data_dir_);
  ASSERT_TRUE(Eventually([&] { return fs::exists(data_dir_ + "/pg.tmp/PG_VERSION"); }));
  holder.Kill();
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

TEST_F(PrivatePostgresTest, AStartIsCalledOffWhileItMakesTheCluster) {
  std::stop_source stop;
  PrivatePostgresOptions options = Options();
  options.durable = true;
  options.stop = stop.get_token();
  auto start = std::async(std::launch::async, [&] { return PrivatePostgres::Start(options); });
  ASSERT_TRUE(Eventually([&] { return fs::exists(data_dir_ + "/pg.tmp/PG_VERSION"); }));
  stop.request_stop();
  EXPECT_EQ(start.get().status().code(), StatusCode::kCancelled);
  EXPECT_FALSE(fs::exists(data_dir_ + "/pg"));
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

TEST_F(PrivatePostgresTest, AStartIsCalledOffWhileItWaitsForAnOldServer) {
  CopyCluster();
  Holder holder(data_dir_);
  const pid_t postmaster = holder.AwaitPostmaster();
  kill(postmaster, SIGSTOP);
  holder.Kill();
  std::stop_source stop;
  PrivatePostgresOptions options = Options();
  options.old_server_limit = std::chrono::minutes(10);
  options.stop = stop.get_token();
  auto start = std::async(std::launch::async, [&] { return PrivatePostgres::Start(options); });
  // The lock is its own by then.
  ASSERT_TRUE(Eventually([&] { return LockHolder() == getpid(); }));
  stop.request_stop();
  EXPECT_EQ(start.get().status().code(), StatusCode::kCancelled);
  kill(postmaster, SIGCONT);
}

TEST_F(PrivatePostgresTest, AStartIsCalledOffWhileTheServerComesUp) {
  fs::create_directory(data_dir_);
  Supervisor supervisor({.command = {{"/bin/sleep", "600"}, account_},
                         .ping_url = SocketUrl(data_dir_, "nobody", "none"),
                         .log_path = data_dir_ + "/log"});
  auto start = std::async(std::launch::async, [&] { return supervisor.Start(); });
  ASSERT_TRUE(Eventually([&] { return supervisor.pid() != 0; }));
  supervisor.CancelStart();
  EXPECT_EQ(start.get().code(), StatusCode::kUnavailable);
  EXPECT_EQ(supervisor.pid(), 0);
}

TEST_F(PrivatePostgresTest, ASilentServerIsKilledSoonAfterTheDeadlineOfAStop) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  const pid_t postmaster = postgres->postmaster_pid();
  kill(postmaster, SIGSTOP);
  EXPECT_EQ(postgres->Stop(/*immediate=*/false, std::chrono::steady_clock::now()).code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(IsAlive(postmaster));
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

TEST_F(PrivatePostgresTest, KeepsItsLogSmallWhileItRuns) {
  CopyCluster();
  PrivatePostgresOptions options = Options();
  options.log_bytes = 2000;
  auto postgres = StartOrFail(options);
  ASSERT_NE(postgres, nullptr);
  const std::string log = data_dir_ + "/pg.log";
  // Each refused login is a line.
  const auto refuse = [&] {
    EXPECT_THROW(pqxx::connection(postgres->UrlOf("no_such_database")), std::exception);
  };
  ASSERT_TRUE(Eventually([&] {
    refuse();
    return fs::exists(log + ".1");
  }));
  EXPECT_GT(fs::file_size(log + ".1"), 2000U);
  EXPECT_TRUE(Eventually([&] { return fs::file_size(log) <= 2000; }));
  // What comes after begins at the beginning.
  ASSERT_TRUE(Eventually([&] {
    refuse();
    return fs::file_size(log) > 0;
  }));
  std::ifstream in(log);
  EXPECT_NE(in.get(), 0);
}

TEST_F(PrivatePostgresTest, IsStartedAgainWhenItDies) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  ASSERT_TRUE(CreateDatabase(postgres->connection_url(), "kept").ok());
  const pid_t first = postgres->postmaster_pid();
  kill(first, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return postgres->restarts() == 1; }));
  EXPECT_TRUE(Eventually([&] { return postgres->Check().ok(); }));
  EXPECT_NE(postgres->postmaster_pid(), first);
  pqxx::connection connection(postgres->UrlOf("kept"));
}

TEST_F(PrivatePostgresTest, ReportsADeadServerThatCannotStartAgain) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  fs::rename(data_dir_ + "/pg", data_dir_ + "/pg.away");
  kill(postgres->postmaster_pid(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return !postgres->Check().ok(); }));
  EXPECT_EQ(postgres->Check().code(), StatusCode::kUnavailable);
  fs::rename(data_dir_ + "/pg.away", data_dir_ + "/pg");
  EXPECT_TRUE(Eventually([&] { return postgres->Check().ok(); }));
}

TEST_F(PrivatePostgresTest, StopsAtOnceThoughAClientIsInATransaction) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  pqxx::connection connection(postgres->connection_url());
  pqxx::nontransaction session(connection);
  session.exec("BEGIN; CREATE TABLE t (a int)");
  const pid_t pid = postgres->postmaster_pid();
  EXPECT_TRUE(postgres->Stop().ok());
  EXPECT_FALSE(IsAlive(pid));
  EXPECT_FALSE(fs::exists(data_dir_ + "/pg/postmaster.pid"));
  EXPECT_NE(StartOrFail(Options()), nullptr);  // the same process may start it again
}

TEST_F(PrivatePostgresTest, SaysThatAnotherProgramHasThePidOfAKilledServer) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  ASSERT_TRUE(postgres->Stop().ok());
  const StatusOr<pid_t> sleeper = Spawn({{"/bin/sleep", "600"}, account_});
  ASSERT_TRUE(sleeper.ok());
  const std::string pid_file = data_dir_ + "/pg/postmaster.pid";
  std::ofstream(pid_file) << *sleeper << "\n" << data_dir_ << "/pg\n";
  EXPECT_THAT(StartError(Options()),
              AllOf(HasSubstr(pid_file), HasSubstr("process " + std::to_string(*sleeper)),
                    HasSubstr("`sleep`"), HasSubstr("used again")));
  EXPECT_TRUE(fs::exists(pid_file));
  kill(*sleeper, SIGKILL);
  Reap(*sleeper);
  fs::permissions(pid_file, fs::perms::all);  // as its own would be: the account removes it
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

TEST_F(PrivatePostgresTest, RefusesAClusterThatAForeignPostgresRuns) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  ASSERT_TRUE(postgres->Stop().ok());
  const StatusOr<pid_t> foreign =
      Spawn({{InstalledPrograms(account_).Path("postgres"), "-D", data_dir_ + "/pg", "-c",
              "listen_addresses=", "-c", "unix_socket_directories=" + data_dir_ + "/run"},
             account_});
  ASSERT_TRUE(foreign.ok());
  const std::string url = SocketUrl(data_dir_ + "/run", "winnow", "postgres");
  ASSERT_TRUE(Eventually([&] { return PingServer(url) == Ping::kAccepts; }));
  EXPECT_THAT(StartError(Options()), HasSubstr("a PostgreSQL that Winnow did not start"));
  kill(*foreign, SIGINT);
  Reap(*foreign);
  EXPECT_NE(StartOrFail(Options()), nullptr);
}

// A shell, a supervisor or a CI runner may leave all of this behind.
TEST_F(PrivatePostgresTest, WorksWithSignalsIgnoredAndBlockedNoStdinAndAnOddEnvironment) {
  CopyCluster();
  const std::string command =
      "trap '' INT TERM HUP CHLD QUIT; umask 077; cd /; exec env -i TMPDIR=/nonexistent "
      "HOME=/nonexistent PGDATA=/nonexistent PGPORT=1 PGOPTIONS='-c work_mem=1' "
      "LANG=ko_KR.EUC-KR " +
      ShellQuoted(HolderPath()) + " " + ShellQuoted(data_dir_) + " once <&- >" +
      ShellQuoted(temp_.path() + "/output") + " 2>&1";
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  for (const int s : {SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGUSR1}) sigaddset(&blocked, s);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  std::FILE* shell = popen(command.c_str(), "re");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const int status = pclose(shell);
  std::ifstream output(temp_.path() + "/output");
  EXPECT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(output), {});
}

}  // namespace
}  // namespace winnow::pg
