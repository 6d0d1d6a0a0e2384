#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"

namespace winnow::dedup {

// Dedup as a row of services/app/serve/targets.cc.
rpc::Target MakeDedupTarget(Platform& platform);

pg::Migrations DedupMigrations();

// What is wrong with dedup's part of a configuration beyond what the platform checks.
Status CheckDedupConfig(const config::v1::Config& config);

}  // namespace winnow::dedup
