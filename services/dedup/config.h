#pragma once

#include <chrono>
#include <memory>

#include "services/dedup/embedding/embedder_worker.h"
#include "services/dedup/policy/policy.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

// Dedup's part of a configuration whose defaults are filled in.
namespace winnow::dedup {

// Rules of a namespace that has none of its own yet.
Policy InitialPolicy(const config::v1::Dedup& config);

// How long an urgent document waits for its vector.
std::chrono::milliseconds EmbedderTime(const config::v1::Dedup& config);

// Null when none is configured. Error: INVALID_ARGUMENT for a key file that cannot be read.
StatusOr<std::unique_ptr<EmbedderWorker>> MakeEmbedder(const config::v1::Dedup& config,
                                                       Metrics& metrics);

}  // namespace winnow::dedup
