#pragma once

#include <memory>

#include "services/platform/events/transport.h"
#include "services/platform/metrics.h"
#include "services/platform/postgres/pool.h"
#include "services/platform/status.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::app {

// How events travel, by events.url of a checked config.
StatusOr<std::unique_ptr<events::Transport>> MakeTransport(const config::v1::Config& config,
                                                           pg::Pool& pool, Metrics& metrics);

}  // namespace winnow::app
