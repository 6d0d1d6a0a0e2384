#pragma once

#include "services/platform/grpc/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/migrate.h"

namespace winnow::collector {

// The collector as a row of services/app/targets.cc.
rpc::Target MakeCollectorTarget(Platform& platform);

pg::Migrations CollectorMigrations();

}  // namespace winnow::collector
