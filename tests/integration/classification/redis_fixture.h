#pragma once

#include <map>
#include <memory>
#include <string>

#include "services/classification/projection/projection_worker.h"
#include "services/platform/redis/client.h"
#include "tests/integration/classification/fixture.h"
#include "tests/support/redis/redis.h"

namespace winnow::classification {

// The same with a Redis, a projection that works when it is called, and another program.
class ClassificationRedisTest : public ClassificationTest {
 protected:
  explicit ClassificationRedisTest(test::RedisMode mode = test::RedisMode::kPlain)
      : server_("", mode) {}

  std::unique_ptr<redis::Client> Connect() {
    config::v1::Redis settings;
    settings.set_url(server_.url());
    settings.set_connections(2);
    auto client = redis::Client::Make(settings, metrics_);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  redis::Reply Run(redis::Command command) {
    auto reply = reader_->Run(Soon(), std::move(command));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : redis::Reply();
  }
  std::map<std::string, std::string> Verdicts() {
    const auto pairs = Run({"HGETALL", "video:v:classification"}).Pairs();
    EXPECT_TRUE(pairs.ok()) << pairs.status();
    return pairs.ok() ? std::map<std::string, std::string>(pairs->begin(), pairs->end())
                      : std::map<std::string, std::string>();
  }

  test::RedisServer server_;
  std::unique_ptr<redis::Client> client_ = Connect();
  std::unique_ptr<redis::Client> reader_ = Connect();  // another program
  ProjectionWorker projection_{
      stores_.projections, stores_.verdicts, *client_, clock_, {}, metrics_};
};

}  // namespace winnow::classification
