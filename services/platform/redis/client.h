#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/process/metrics.h"
#include "services/platform/redis/pool.h"
#include "services/platform/redis/reply.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::redis {

// A Lua script, known to Redis by the SHA-1 of its text.
class Script {
 public:
  explicit Script(std::string text);
  const std::string& text() const { return text_; }
  const std::string& sha1() const { return sha1_; }

 private:
  std::string text_;
  std::string sha1_;
};

// Redis as a projection: its users work without it too. Any thread may call. Every call ends
// at its deadline, and at once while Redis is away. Errors: UNAVAILABLE (REDIS_UNAVAILABLE) when
// it is away or was lost (then the commands may have been done or not), DEADLINE_EXCEEDED,
// RESOURCE_EXHAUSTED when no connection came free in time, INTERNAL for an error of Redis that says
// the command was wrong.
class Client {
 public:
  Client(PoolOptions options, Metrics& metrics);
  // From the settings `redis`; reads the password's file. Null when redis.url is empty.
  static StatusOr<std::unique_ptr<Client>> Make(const config::v1::Redis& settings,
                                                Metrics& metrics);

  // One command; an error of Redis becomes a status.
  StatusOr<Reply> Run(Deadline deadline, Command command);
  // All in one go, not atomic; errors of Redis are replies, for whose status ask each.
  StatusOr<std::vector<Reply>> Pipeline(Deadline deadline, std::span<const Command> commands);
  // The script by EVALSHA, and by EVAL where Redis does not know it (any more).
  StatusOr<Reply> Eval(Deadline deadline, const Script& script, std::span<const std::string> keys,
                       std::span<const std::string> arguments);

  // A health probe: OK when Redis answers PING within a second.
  Status Check();
  bool away() const { return pool_.away(); }

 private:
  Pool pool_;
  Counter& commands_;
  Histogram& ok_seconds_;
  Histogram& failed_seconds_;
  Counter& refused_;
};

}  // namespace winnow::redis
