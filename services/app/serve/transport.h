#pragma once

#include <memory>

#include "services/platform/base/status.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::app {

// How events travel, by events.url of a checked config.
StatusOr<std::unique_ptr<events::Transport>> MakeTransport(const config::v1::Config& config,
                                                           pg::Pool& pool, Metrics& metrics);

}  // namespace winnow::app
