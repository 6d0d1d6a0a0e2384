#pragma once

#include <memory>
#include <string>

#include "services/platform/base/function_ref.h"
#include "services/platform/base/status.h"
#include "services/platform/redis/client.h"

// A Redis that an import reads. Nothing is ever written there.
namespace winnow::app {

struct RedisSource {
  std::string url;
  std::string password_file;
};

// `metrics` outlives the client.
StatusOr<std::unique_ptr<redis::Client>> OpenRedis(const RedisSource& source, Metrics& metrics);

// Of one command.
Deadline RedisDeadline();

// Calls `take` with every key that begins with `prefix`; one that comes or goes meanwhile may be
// left out, and one may come twice. FAILED_PRECONDITION when there are too many keys to look at.
Status ForEachRedisKey(redis::Client& redis, const std::string& prefix,
                       FunctionRef<void(const std::string& key)> take);

}  // namespace winnow::app
