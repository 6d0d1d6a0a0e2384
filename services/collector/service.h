#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::collector {

// The collector as a row of services/app/serve/targets.cc.
rpc::Target MakeCollectorTarget(Platform& platform);

pg::Migrations CollectorMigrations();

}  // namespace winnow::collector
