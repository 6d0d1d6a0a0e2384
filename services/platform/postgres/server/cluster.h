#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"
#include "services/platform/postgres/server/programs.h"

namespace winnow::pg {

// A database cluster is the directory `pg` of the data directory.
inline constexpr char kSuperuser[] = "winnow";
inline constexpr char kDatabase[] = "winnow";

// Major version of the cluster in `data_dir`; empty if there is none yet. An error when `pg` is
// there and is not a cluster.
StatusOr<std::optional<int>> ClusterMajor(const std::string& data_dir);

// Makes the cluster, in `pg.tmp` first: an initdb that was killed leaves PG_VERSION behind, so only
// the rename says that it is whole. `lock_fd` is inherited, so that no bootstrap process outlives
// the lock. With `durable` all is synced before the rename. CANCELLED when `stop` comes first.
Status InitCluster(const std::string& data_dir, const Programs& programs, const Account& account,
                   int lock_fd, bool durable, const std::stop_token& stop = {});

}  // namespace winnow::pg
