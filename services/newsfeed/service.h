#pragma once

#include "services/platform/grpc/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/migrate.h"

namespace winnow::newsfeed {

// The feeds as a row of services/app/targets.cc.
rpc::Target MakeNewsFeedTarget(Platform& platform);

pg::Migrations NewsFeedMigrations();

}  // namespace winnow::newsfeed
