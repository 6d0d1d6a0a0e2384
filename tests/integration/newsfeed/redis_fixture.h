#pragma once

#include <string>
#include <vector>

#include "services/newsfeed/projection/projection_worker.h"
#include "services/platform/redis/client.h"
#include "tests/integration/newsfeed/fixture.h"
#include "tests/support/redis/redis.h"

namespace winnow::newsfeed {

// The same with a Redis, a projector that works when it is called, and any client beside it.
class NewsFeedRedisTest : public NewsFeedTest {
 protected:
  explicit NewsFeedRedisTest(test::RedisMode mode = test::RedisMode::kPlain) : server_("", mode) {}

  static redis::PoolOptions Options(const test::RedisServer& server) {
    redis::PoolOptions options;
    options.address.socket = server.socket();
    options.first_backoff = std::chrono::milliseconds(5);
    options.longest_backoff = std::chrono::milliseconds(50);
    return options;
  }

  void Project() {
    const Status looked = projector_.Look();
    EXPECT_TRUE(looked.ok()) << looked;
  }

  // What any Redis client reads.
  redis::Reply Ask(redis::Command command) {
    auto reply = reader_.Run(Soon(), std::move(command));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : redis::Reply();
  }
  std::vector<std::string> FeedIn(const std::string& key) {
    return *Ask({"ZREVRANGE", key, "0", "-1"}).Texts();
  }

  test::RedisServer server_;
  redis::Client redis_{Options(server_), metrics_};
  redis::Client reader_{Options(server_), metrics_};
  ProjectionStore projections_{reads_, writes_};
  ProjectionWorker projector_{feeds_, categories_, projections_, redis_, clock_, {}, metrics_};
};

}  // namespace winnow::newsfeed
