#pragma once

#include <vector>

#include "services/collector/quota/credential.h"
#include "services/platform/base/status.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::collector {

// The configuration's credentials with their keys, which are read from files. Error:
// INVALID_ARGUMENT that names the setting and never the key.
StatusOr<std::vector<Credential>> ReadCredentials(const config::v1::Collector& config);

}  // namespace winnow::collector
