#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <pqxx/pqxx>

#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/programs.h"
#include "tests/integration/platform/postgres/private_postgres_fixture.h"

// What a start finds, makes and refuses.
namespace winnow::pg {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string Setting(PrivatePostgres& postgres, const std::string& name) {
  pqxx::connection connection(postgres.connection_url());
  pqxx::nontransaction session(connection);
  return session.exec1("SHOW " + name)[0].c_str();
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(PrivatePostgresTest, MakesADurableUtf8ClusterOnAnEmptyDirectory) {
  PrivatePostgresOptions options = Options();
  options.durable = true;
  auto postgres = StartOrFail(options);
  ASSERT_NE(postgres, nullptr);
  EXPECT_TRUE(postgres->Check().ok());
  EXPECT_EQ(Setting(*postgres, "fsync"), "on");
  EXPECT_EQ(Setting(*postgres, "full_page_writes"), "on");
  EXPECT_EQ(Setting(*postgres, "server_encoding"), "UTF8");
  EXPECT_EQ(Setting(*postgres, "lc_collate"), "C");
  EXPECT_EQ(Setting(*postgres, "lc_ctype"), "C");
  EXPECT_EQ(Setting(*postgres, "dynamic_shared_memory_type"), "mmap");
  EXPECT_EQ(Setting(*postgres, "listen_addresses"), "");
  EXPECT_FALSE(fs::exists(data_dir_ + "/pg.tmp"));
  pqxx::connection connection(postgres->connection_url());
  EXPECT_STREQ(connection.dbname(), "winnow");
}

TEST_F(PrivatePostgresTest, KeepsItsDataOverAStop) {
  CopyCluster();
  {
    auto postgres = StartOrFail(Options());
    ASSERT_NE(postgres, nullptr);
    ASSERT_TRUE(CreateDatabase(postgres->connection_url(), "kept").ok());
    EXPECT_TRUE(postgres->Stop().ok());
    EXPECT_FALSE(postgres->Check().ok());
  }
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  pqxx::connection connection(postgres->UrlOf("kept"));
}

TEST_F(PrivatePostgresTest, NamesThePackageWhenNoPostgresIsInstalled) {
  PrivatePostgresOptions options = Options();
  options.versions_dir = temp_.path() + "/none";
  options.path = "/nonexistent:relative::";
  EXPECT_THAT(StartError(options), HasSubstr("install the package postgresql-15"));
}

TEST_F(PrivatePostgresTest, FindsTheProgramsThroughPath) {
  CopyCluster();
  const std::string bin = temp_.path() + "/bin";
  fs::create_directory(bin);
  const auto installed = fs::path(FindPrograms({}, account_).at(0).bin_dir);
  fs::create_symlink(installed / "postgres", bin + "/postgres");
  PrivatePostgresOptions options = Options();
  options.versions_dir = temp_.path() + "/none";
  options.path = "/nonexistent:" + bin;
  EXPECT_NE(StartOrFail(options), nullptr);
}

TEST_F(PrivatePostgresTest, RefusesTheDataOfAnotherVersionAndPrintsHowToMoveIt) {
  fs::create_directories(data_dir_ + "/pg");
  std::ofstream(data_dir_ + "/pg/PG_VERSION") << "12\n";
  EXPECT_THAT(StartError(Options()), AllOf(HasSubstr("PostgreSQL 12"), HasSubstr("postgresql-12"),
                                           HasSubstr("pg_dumpall"), HasSubstr("psql")));
  EXPECT_EQ(ReadFile(data_dir_ + "/pg/PG_VERSION"), "12\n");
}

TEST_F(PrivatePostgresTest, RefusesADirectoryThatIsNoCluster) {
  fs::create_directories(data_dir_ + "/pg");
  std::ofstream(data_dir_ + "/pg/letters.txt") << "mine";
  EXPECT_THAT(StartError(Options()), HasSubstr("is not a PostgreSQL cluster"));
  EXPECT_EQ(ReadFile(data_dir_ + "/pg/letters.txt"), "mine");
}

TEST_F(PrivatePostgresTest, StartsOverAfterAnInitdbThatWasKilled) {
  fs::create_directories(data_dir_ + "/pg.tmp/base");
  std::ofstream(data_dir_ + "/pg.tmp/PG_VERSION") << "15\n";
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  EXPECT_FALSE(fs::exists(data_dir_ + "/pg.tmp"));
}

TEST_F(PrivatePostgresTest, ListensOnAUnixSocketOfTheAccountAlone) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  struct stat info {};
  ASSERT_EQ(stat((data_dir_ + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, account_.uid);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_THAT(postgres->connection_url(), HasSubstr("%2Frun"));
}

TEST_F(PrivatePostgresTest, MovesTheSocketWhenItsPathWouldBeTooLong) {
  PrivatePostgresOptions options = Options();
  options.data_dir = data_dir_ + "/" + std::string(120, 'x');
  auto postgres = StartOrFail(options);
  ASSERT_NE(postgres, nullptr);
  EXPECT_FALSE(fs::exists(options.data_dir + "/run"));
  pqxx::connection connection(postgres->connection_url());
  pqxx::nontransaction session(connection);
  const std::string dir =
      session.exec1("SELECT trim('\"' FROM current_setting('unix_socket_directories'))")[0].c_str();
  struct stat info {};
  ASSERT_EQ(stat(dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(info.st_uid, account_.uid);
  ASSERT_TRUE(postgres->Stop().ok());
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(PrivatePostgresTest, TakesADirectoryWithAnOddName) {
  PrivatePostgresOptions options = Options();
  options.data_dir = data_dir_ + "/a b, \"c\" 뉴스 $HOME %20 'd'";
  EXPECT_NE(StartOrFail(options), nullptr);
}

TEST_F(PrivatePostgresTest, RunsAsTheAccountInASessionOfItsOwn) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  const pid_t pid = postgres->postmaster_pid();
  struct stat info {};
  ASSERT_EQ(stat(("/proc/" + std::to_string(pid)).c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, account_.uid);
  EXPECT_NE(info.st_uid, 0u);
  EXPECT_EQ(getsid(pid), pid);  // Ctrl-C at the terminal does not reach it
}

TEST_F(PrivatePostgresTest, RefusesADirectoryThatItsAccountCannotEnter) {
  const std::string closed = temp_.path() + "/closed";
  fs::create_directory(closed);
  // For root's account a directory of root's own, as /root is; else one closed to its owner.
  fs::permissions(closed, account_.drop ? fs::perms::owner_all : fs::perms::none);
  data_dir_ = closed + "/data";
  EXPECT_THAT(StartError(Options()), AllOf(HasSubstr(closed), HasSubstr("--data-dir")));
  fs::permissions(closed, fs::perms::owner_all);
}

TEST_F(PrivatePostgresTest, RefusesADirectoryThatCannotBeMadeOrIsAFile) {
  data_dir_ = "/proc/winnow";
  EXPECT_THAT(StartError(Options()), AllOf(HasSubstr("/proc/winnow"), HasSubstr("--data-dir")));
  data_dir_ = temp_.path() + "/file";
  std::ofstream(data_dir_) << "x";
  EXPECT_THAT(StartError(Options()), HasSubstr("not a directory"));
}

TEST_F(PrivatePostgresTest, ItsLogHoldsNoValuesOfRowsOrStatements) {
  CopyCluster();
  auto postgres = StartOrFail(Options());
  ASSERT_NE(postgres, nullptr);
  pqxx::connection connection(postgres->connection_url());
  pqxx::nontransaction session(connection);
  session.exec("CREATE TABLE t (title text UNIQUE)");
  session.exec("INSERT INTO t VALUES ('confidential')");
  EXPECT_THROW(session.exec("INSERT INTO t VALUES ('confidential')"), pqxx::unique_violation);
  EXPECT_THROW(session.exec("SELECT 'confidential'::int"), pqxx::data_exception);
  EXPECT_THROW(session.exec_params("SELECT $1::int", "confidential"), pqxx::data_exception);
  EXPECT_EQ(ReadFile(data_dir_ + "/pg.log").find("confidential"), std::string::npos);
}

}  // namespace
}  // namespace winnow::pg
