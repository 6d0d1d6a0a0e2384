#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::classification {

// Classification of comments as a row of services/app/serve/targets.cc.
rpc::Target MakeClassificationTarget(Platform& platform);

pg::Migrations ClassificationMigrations();

}  // namespace winnow::classification
