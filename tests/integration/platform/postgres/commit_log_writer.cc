// commit_log_writer URL NAME: appends rows NAME-1, NAME-2, ... to the test's log, some at a time,
// and prints each id once its commit is acknowledged, until it is killed. What fails is tried
// again, as a caller would.
#include <iostream>
#include <random>

#include "services/platform/process/log.h"
#include "services/platform/process/metrics.h"
#include "tests/integration/platform/postgres/commit_log_table.h"

namespace winnow::pg {
namespace {

void AppendUntilThere(Pool& pool, const std::vector<std::string>& ids) {
  while (true) {
    const auto done =
        AppendIds(pool, ids, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    // Taken: an earlier try, whose outcome stayed unknown, was committed.
    if (done.ok() || done.status().code() == StatusCode::kAlreadyExists) return;
  }
}

[[noreturn]] void Write(const std::string& url, const std::string& name) {
  log::SetLevel(log::Level::kError);
  Metrics metrics;
  Pool pool({.name = "writer", .url = url, .connections = 2}, metrics);
  std::minstd_rand random(std::hash<std::string>()(name));
  for (int64_t next = 1;;) {
    std::vector<std::string> ids;
    for (auto count = 1 + random() % 5; count > 0; --count) {
      ids.push_back(name + "-" + std::to_string(next++));
    }
    AppendUntilThere(pool, ids);
    for (const std::string& id : ids) std::cout << id << "\n";
    std::cout.flush();
  }
}

}  // namespace
}  // namespace winnow::pg

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  winnow::pg::Write(argv[1], argv[2]);
}
