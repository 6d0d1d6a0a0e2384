#include "services/platform/redis/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/redis/redis.h"

namespace winnow::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

PoolOptions OptionsOf(const test::RedisServer& server, int connections = 4) {
  PoolOptions options;
  options.address.socket = server.socket();
  options.connections = connections;
  return options;
}

class RedisClientTest : public ::testing::Test {
 protected:
  test::RedisServer server_;
  Metrics metrics_;
  Client client_{OptionsOf(server_), metrics_};
};

TEST_F(RedisClientTest, KeepsAnyBytes) {
  const std::string key("k\0\r\n$5 \xff", 8);
  const std::string value(100'000, '\0');
  ASSERT_TRUE(client_.Run(Soon(), {"SET", key, value}).ok());
  const auto reply = client_.Run(Soon(), {"GET", key});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(*reply->Text(), value);
  EXPECT_TRUE(client_.Run(Soon(), {"GET", "none"})->IsNil());
}

TEST_F(RedisClientTest, SendsThousandsOfCommandsInOneGo) {
  std::vector<Command> commands;
  for (int i = 0; i < 5'000; ++i) {
    commands.push_back({"SET", "k" + std::to_string(i), std::string(1'000, 'v')});
  }
  for (int i = 0; i < 5'000; ++i) commands.push_back({"GET", "k" + std::to_string(i)});
  const auto replies = client_.Pipeline(Soon(), commands);
  ASSERT_TRUE(replies.ok()) << replies.status();
  ASSERT_EQ(replies->size(), 10'000U);
  EXPECT_EQ(replies->back().Text()->size(), 1'000U);
}

TEST_F(RedisClientTest, OneWrongCommandOfManyFailsAlone) {
  const std::vector<Command> commands = {
      {"SET", "k", "v"}, {"LPUSH", "k", "x"}, {"NONSENSE"}, {"MGET", "k", "l"}};
  const auto replies = client_.Pipeline(Soon(), commands);
  ASSERT_TRUE(replies.ok()) << replies.status();
  EXPECT_TRUE((*replies)[0].ToStatus().ok());
  EXPECT_EQ((*replies)[1].ToStatus().code(), StatusCode::kInternal);
  EXPECT_EQ((*replies)[2].ToStatus().code(), StatusCode::kInternal);
  EXPECT_THAT(*(*replies)[3].MaybeTexts(), ElementsAre(Optional(std::string("v")), std::nullopt));
  EXPECT_EQ(client_.Run(Soon(), {"LPUSH", "k", "x"}).status().code(), StatusCode::kInternal);
}

TEST_F(RedisClientTest, RunsAScriptThatRedisForgot) {
  const Script script("return {KEYS[1], ARGV[1]}");
  const std::vector<std::string> keys = {"k"};
  const std::vector<std::string> arguments = {"a"};
  for (int i = 0; i < 2; ++i) {
    const auto reply = client_.Eval(Soon(), script, keys, arguments);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_THAT(*reply->Texts(), ElementsAre("k", "a"));
    ASSERT_TRUE(client_.Run(Soon(), {"SCRIPT", "FLUSH"}).ok());
  }
  const auto known = client_.Run(Soon(), {"SCRIPT", "LOAD", script.text()});
  EXPECT_EQ(*known->Text(), script.sha1());
  EXPECT_FALSE(client_.Eval(Soon(), Script("return redis.call('NO')"), {}, {}).ok());
}

TEST_F(RedisClientTest, HoldsItsBound) {
  Client two(OptionsOf(server_, 2), metrics_);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        if (!two.Run(Soon(), {"INCR", "n"}).ok()) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(*client_.Run(Soon(), {"GET", "n"})->Text(), "800");
  const auto clients = client_.Run(Soon(), {"INFO", "clients"});
  EXPECT_THAT(*clients->Text(), HasSubstr("connected_clients:3\r\n"));  // one asks
}

TEST_F(RedisClientTest, CountsWhatItDoes) {
  ASSERT_TRUE(client_.Check().ok());
  const std::string shown = metrics_.Render();
  EXPECT_THAT(shown, HasSubstr("winnow_redis_up 1"));
  EXPECT_THAT(shown, HasSubstr("winnow_redis_commands_total 1"));
  EXPECT_THAT(shown, HasSubstr("winnow_redis_connects_total{result=\"ok\"} 1"));
}

TEST(RedisLogin, NeedsTheRightPasswordAndNeverShowsIt) {
  test::RedisServer server("right-secret");
  Metrics metrics;
  PoolOptions options = OptionsOf(server);
  options.address.password = "wrong-secret";
  Client wrong(options, metrics);
  const Status refused = wrong.Check();
  EXPECT_EQ(ReasonOf(refused), Reason::kRedisUnavailable) << refused;
  EXPECT_EQ(Message(refused).find("secret"), std::string::npos);
  options.address.password = "right-secret";
  options.address.db = 3;
  Client right(options, metrics);
  EXPECT_TRUE(right.Check().ok());
}

}  // namespace
}  // namespace winnow::redis
