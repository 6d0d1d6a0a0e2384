#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::polling {

// The registry of jobs in flight as a row of services/app/serve/targets.cc.
rpc::Target MakePollingTarget(Platform& platform);

pg::Migrations PollingMigrations();

}  // namespace winnow::polling
