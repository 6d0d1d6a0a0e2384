#pragma once

#include <span>
#include <vector>

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"
#include "services/platform/postgres/schema/migrate.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::app {

// What a Winnow process can be: one row per service. Everything of a service that main needs to
// know is in its row.
struct TargetRow {
  const char* name;
  rpc::Target (*make)(Platform&);
  pg::Migrations (*migrations)();
  // What the platform's check of the configuration leaves to it; null: nothing.
  Status (*check)(const config::v1::Config&) = nullptr;
};

// All rows; those whose names the config's targets list ("all" for every one).
std::span<const TargetRow> AllTargets();
std::vector<TargetRow> ChosenTargets(const config::v1::Config& config);

}  // namespace winnow::app
