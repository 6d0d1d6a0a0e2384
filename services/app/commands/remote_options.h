#pragma once

#include "services/app/client/remote.h"
#include "services/app/import/redis/redis_source.h"

namespace CLI {
class App;
}

namespace winnow::app {

// --address, --token-file, --tls, ...
void AddRemoteOptions(CLI::App& command, RemoteOptions& options);
// --redis (required), --redis-password-file
void AddRedisOptions(CLI::App& command, RedisSource& source);

}  // namespace winnow::app
