#include "services/platform/postgres/server/cluster.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/platform/postgres/server/data_dir.h"
#include "services/platform/postgres/server/process.h"

namespace winnow::pg {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInitdbLimit(300);

}  // namespace

StatusOr<std::optional<int>> ClusterMajor(const std::string& data_dir) {
  const fs::path pg = data_dir + "/pg";
  std::error_code error;
  if (!fs::exists(fs::symlink_status(pg, error)) || fs::is_empty(pg, error)) {
    return std::optional<int>();
  }
  std::ifstream file(pg / "PG_VERSION");
  int major = 0;
  if (file >> major && major > 0) return std::optional<int>(major);
  return FailedPrecondition(pg.string() +
                            " exists but is not a PostgreSQL cluster (no readable PG_VERSION): "
                            "move it away, or choose another --data-dir");
}

Status InitCluster(const std::string& data_dir, const Programs& programs, const Account& account,
                   int lock_fd, bool durable, const std::stop_token& stop) {
  const std::string unfinished = data_dir + "/pg.tmp";
  std::error_code error;
  fs::remove_all(unfinished, error);  // of an initdb that was killed; the lock says it is gone
  if (error) return FailedPrecondition("cannot remove " + unfinished + ": " + error.message());
  WINNOW_RETURN_IF_ERROR(MakePrivateDir(unfinished, account));
  Command initdb = {{programs.Path("initdb"), "--pgdata", unfinished, "--username", kSuperuser,
                     "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale=C",
                     "--no-instructions"},
                    account};
  if (!durable) initdb.argv.push_back("--no-sync");
  initdb.keep_fd = lock_fd;
  initdb.own_session = true;
  WINNOW_ASSIGN_OR_RETURN(Finished finished, Run(std::move(initdb), kInitdbLimit, stop));
  if (finished.exit_code != 0) {
    return FailedPrecondition("initdb failed in " + unfinished + " (exit status " +
                              std::to_string(finished.exit_code) + "): " + finished.output);
  }
  if (rename(unfinished.c_str(), (data_dir + "/pg").c_str()) != 0) {
    return FailedPrecondition("cannot rename " + unfinished + ": " + strerror(errno));
  }
  return durable ? SyncDir(data_dir) : OkStatus();
}

}  // namespace winnow::pg
