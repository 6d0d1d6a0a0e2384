#include "tests/support/postgres/postgres_history.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

std::string Query(const std::string& sql) {
  Metrics metrics;
  pg::Pool pool(
      {.name = "admin", .url = Postgres::Instance().server().UrlOf("postgres"), .connections = 1},
      metrics);
  const StatusOr<std::string> answer =
      pool.Statements(std::chrono::steady_clock::now() + std::chrono::seconds(60),
                      [&](pg::Session& session) -> StatusOr<std::string> {
                        return session.ExecuteText(sql)[0][0].c_str();
                      });
  if (!answer.ok()) throw std::runtime_error(Message(answer.status()));
  return *answer;
}

}  // namespace

void BeginNewHistory() {
  const std::filesystem::path data_dir = Query("SHOW data_directory");
  if (!std::ofstream(data_dir / "standby.signal")) {
    throw std::runtime_error("cannot write " + (data_dir / "standby.signal").string());
  }
  Postgres::Instance().KillAndAwaitRestart();
  if (Query("SELECT pg_promote()") != "t") throw std::runtime_error("PostgreSQL is not promoted");
  if (!Eventually([] { return Query("SELECT pg_is_in_recovery()") == "f"; })) {
    throw std::runtime_error("PostgreSQL stays a standby");
  }
}

}  // namespace winnow::test
