#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"
#include "services/platform/process/fd.h"

namespace winnow::pg {

// The locks of a data directory. `owner` is this Winnow's alone: who has it may run the cluster.
// `server` is inherited by initdb, the postmaster and all its backends, so that it is free only
// once the last of them is gone, whatever became of the Winnow that started them.
struct DataDirLocks {
  Fd owner;
  Fd server;
};

// Takes both. A live Winnow on the directory is an error at once; the PostgreSQL that a killed one
// left behind is stopped and waited for until `limit`. CANCELLED when `stop` comes first.
StatusOr<DataDirLocks> LockDataDir(const std::string& data_dir, std::chrono::milliseconds limit,
                                   const std::stop_token& stop = {});

// With the locks held: is there a process, named by postmaster.pid, that keeps a new postmaster
// from starting? Either a PostgreSQL that Winnow did not start, or a recycled process number. The
// error says which, and what to do: postmaster.pid is never deleted here.
Status CheckNobodyBlocksTheStart(const std::string& cluster_dir, const Account& account);

}  // namespace winnow::pg
