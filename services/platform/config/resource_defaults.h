#pragma once

#include <string>
#include <vector>

#include "services/platform/process/machine_limits.h"
#include "winnow/config/v1/config.pb.h"

// The settings that depend on the machine: sizes of buffers, caches and pools. Pure; the division
// is described in docs/adr/0022-defaults-from-limits.md.
namespace winnow {

// A default that was derived from the machine's limits.
struct DerivedSetting {
  std::string field;   // "dedup.max_documents"
  std::string value;   // "417000"
  std::string origin;  // "derived from memory limit 1 GiB"
};

// What a part of the configured process is expected to use at most.
struct MemoryPart {
  std::string name;  // a setting, or what is always there
  int64_t bytes = 0;
};

// Fills in the settings that the configuration leaves out; explicit ones are kept, and what they
// take is not given to others. Expects targets and postgres.url to be filled in.
std::vector<DerivedSetting> FillResourceDefaults(config::v1::Config& config,
                                                 const MachineLimits& limits);

// Of a config whose defaults are filled in.
std::vector<MemoryPart> EstimateMemory(const config::v1::Config& config);

// What does not forbid a start but will cost the operator later; empty when the estimate fits.
std::vector<std::string> ResourceWarnings(const config::v1::Config& config,
                                          const MachineLimits& limits);

// Connections of the log transactions' pool and of the events' pool
// (services/app/serve/database.cc).
int LogConnections(const config::v1::Config& config);
constexpr int kEventConnections = 4;

// Whether the config runs the target, by its name or by "all".
bool RunsTarget(const config::v1::Config& config, std::string_view target);

}  // namespace winnow
