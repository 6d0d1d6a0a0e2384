#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/grpc/port/connection_table.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::app {

// What a process needs descriptors for, at most; of a config whose defaults are filled in.
struct DescriptorNeed {
  std::string what;
  size_t count = 0;
};
std::vector<DescriptorNeed> DescriptorNeeds(const config::v1::Config& config);

// The limits of the gRPC port's connections under a limit of `descriptors` open files. The error
// names what is needed when there is no room for calls.max_connections, or, where that is not set,
// for the fewest connections that a server is worth starting for.
StatusOr<rpc::ConnectionLimits> ConnectionLimitsOf(const config::v1::Config& config,
                                                   size_t descriptors);

}  // namespace winnow::app
