#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/function_ref.h"
#include "services/platform/base/status.h"
#include "services/platform/redis/client.h"

// Jobs in flight in the published layout: a sorted set PREFIX + STATE for each state
// ("stt:polling:"
// + "processing"), member = id, score = ms since 1970 at which the job entered the state.
namespace winnow::app {

// "zset"; "none" where there is no such key.
StatusOr<std::string> RedisTypeOf(redis::Client& redis, const std::string& key);

StatusOr<int64_t> CountRedisJobs(redis::Client& redis, const std::string& key);

// Id and score, as Redis has them.
using RedisJob = std::pair<std::string, std::string>;

// Calls `take` with some jobs at a time, some hundred usually. A job that is there all the time
// comes at least once, and perhaps in two calls. Ends with the first error of `take`.
Status ForEachRedisJob(redis::Client& redis, const std::string& key,
                       FunctionRef<Status(std::vector<RedisJob> jobs)> take);

// The time that a score stands for; nothing when it is none of years 1 to 9999.
std::optional<Time> TimeOfScore(const std::string& score);

}  // namespace winnow::app
