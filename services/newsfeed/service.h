#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::newsfeed {

// The feeds as a row of services/app/serve/targets.cc.
rpc::Target MakeNewsFeedTarget(Platform& platform);

pg::Migrations NewsFeedMigrations();

}  // namespace winnow::newsfeed
