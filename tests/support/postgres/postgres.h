#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "services/platform/postgres/server/private_postgres.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::test {

// The PostgreSQL of this test binary: a real one in a directory of its own under /tmp, without
// syncing, started at its first use and ended with the binary, also when that is killed.
// Everything throws std::runtime_error when it fails, which fails the test.
class Postgres {
 public:
  static Postgres& Instance();

  // URL of a new, empty database.
  std::string NewDatabase();

  // URL of a new database, a copy of `template_name`, which `prepare(url)` fills the first time
  // (it must close its connections). Applying migrations once and copying costs 0.1 s a test.
  std::string NewDatabase(const std::string& template_name,
                          const std::function<void(const std::string& url)>& prepare);

  // kill -9, and back when the server accepts connections again.
  void KillAndAwaitRestart();

  // Nobody can connect to the database, and those who are connected are cut off; and back.
  void TakeAway(const std::string& url);
  void BringBack(const std::string& url);

  pg::PrivatePostgres& server() { return *server_; }

  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;
  ~Postgres();

 private:
  Postgres();
  std::string CopyOf(const std::string& template_name);
  void Administer(const std::string& sql);

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<pg::PrivatePostgres> server_;
  std::mutex mutex_;
  std::set<std::string> templates_;
  int databases_ = 0;
};

}  // namespace winnow::test
