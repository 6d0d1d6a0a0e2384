#pragma once

#include "services/platform/base/clock.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/grpc/runtime/runtime.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"
#include "services/platform/redis/client.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow {

// The parts that main makes once and every service is built on. References only: main owns them.
struct Platform {
  const config::v1::Config& config;
  const Clock& clock;
  Metrics& metrics;
  rpc::Runtime& runtime;
  pg::Pool& reads;
  pg::Pool& writes;
  pg::Pool& logs;  // for LogTransactions only, so that lock waiters never hold up reads or writes
  events::Transport& transport;
  redis::Client* redis = nullptr;  // null: there is none
  // An operator gives keys of other programs in Redis to the projections (redis/ownership.h).
  bool adopt_redis_keys = false;
};

}  // namespace winnow
