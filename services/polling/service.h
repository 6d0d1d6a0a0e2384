#pragma once

#include "services/platform/grpc/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/migrate.h"

namespace winnow::polling {

// The registry of jobs in flight as a row of services/app/targets.cc.
rpc::Target MakePollingTarget(Platform& platform);

pg::Migrations PollingMigrations();

}  // namespace winnow::polling
