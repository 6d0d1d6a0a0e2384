#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "services/platform/postgres/server/account.h"
#include "services/platform/postgres/server/cluster.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "services/platform/postgres/server/process.h"
#include "services/platform/postgres/server/programs.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/sync/eventually.h"

namespace winnow::pg {

using test::Eventually;

// Zombies count as gone: their parent may never reap them.
inline bool IsAlive(pid_t pid) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  if (file == nullptr) return false;
  char state = 'Z';
  const int fields = std::fscanf(file, "%*d (%*[^)]) %c", &state);
  std::fclose(file);
  return fields == 1 && state != 'Z';
}

inline std::string HolderPath() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "private_postgres_holder")
      .string();
}

inline std::string ShellQuoted(const std::string& text) { return "'" + text + "'"; }

// A Winnow in another process, with its private PostgreSQL running.
class Holder {
 public:
  explicit Holder(const std::string& data_dir) {
    const std::string command = "echo $$; exec " + ShellQuoted(HolderPath()) + " " +
                                ShellQuoted(data_dir) + " hold 2>/dev/null";
    pipe_ = popen(command.c_str(), "re");
    EXPECT_EQ(std::fscanf(pipe_, "%d", &pid_), 1);
  }
  ~Holder() {
    Kill();
    EXPECT_TRUE(Eventually([&] { return postmaster_ == 0 || !IsAlive(postmaster_); }));
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Waits for "ready"; the postmaster's pid.
  pid_t AwaitPostmaster() {
    EXPECT_EQ(std::fscanf(pipe_, " ready %d", &postmaster_), 1);
    return postmaster_;
  }

  void Kill() {
    if (pipe_ == nullptr) return;
    kill(pid_, SIGKILL);
    pclose(std::exchange(pipe_, nullptr));
  }

 private:
  std::FILE* pipe_ = nullptr;
  pid_t pid_ = 0;
  pid_t postmaster_ = 0;
};

class PrivatePostgresTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { prototype = std::make_unique<test::TempDir>("private-template"); }
  static void TearDownTestSuite() { prototype.reset(); }

  // Puts a copy of a fresh cluster into the data directory: much quicker than an initdb.
  void CopyCluster() {
    if (!std::filesystem::exists(prototype->path() + "/pg")) {
      const Programs programs = FindPrograms({}, account_).at(0);
      ASSERT_TRUE(InitCluster(prototype->path(), programs, account_, -1, /*durable=*/false).ok());
    }
    std::filesystem::create_directory(data_dir_);
    std::filesystem::permissions(data_dir_, std::filesystem::perms(0755));
    const Account self = {.uid = geteuid(), .gid = getegid(), .name = "", .home = ""};
    const auto copied = pg::Run({{"/bin/cp", "-a", prototype->path() + "/pg", data_dir_}, self},
                                std::chrono::seconds(60));
    ASSERT_TRUE(copied.ok() && copied->exit_code == 0) << copied.status().message();
  }

  // Quick to make; tests of durability ask for it.
  PrivatePostgresOptions Options() const {
    PrivatePostgresOptions options;
    options.data_dir = data_dir_;
    options.durable = false;
    return options;
  }
  static std::unique_ptr<PrivatePostgres> StartOrFail(const PrivatePostgresOptions& options) {
    auto started = PrivatePostgres::Start(options);
    EXPECT_TRUE(started.ok()) << started.status().message();
    return started.ok() ? *std::move(started) : nullptr;
  }
  static std::string StartError(const PrivatePostgresOptions& options) {
    auto started = PrivatePostgres::Start(options);
    EXPECT_FALSE(started.ok());
    EXPECT_EQ(started.status().code(), StatusCode::kFailedPrecondition);
    return Message(started.status());
  }

  // The process that says it holds the directory; 0 for none.
  pid_t LockHolder() const {
    pid_t pid = 0;
    std::ifstream(data_dir_ + "/winnow.lock") >> pid;
    return pid;
  }

  static inline std::unique_ptr<test::TempDir> prototype;
  test::TempDir temp_{"private"};
  std::string data_dir_ = temp_.path() + "/data";
  Account account_ = *AccountFor(geteuid());
};

}  // namespace winnow::pg
