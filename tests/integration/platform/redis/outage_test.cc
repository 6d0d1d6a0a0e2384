#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "services/platform/redis/client.h"
#include "tests/support/redis/redis.h"
#include "tests/support/sync/eventually.h"

namespace winnow::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using test::Eventually;

Deadline Late() { return steady_clock::now() + seconds(120); }

PoolOptions Quick(Address address) {
  PoolOptions options;
  options.address = std::move(address);
  options.first_backoff = milliseconds(5);
  options.longest_backoff = milliseconds(50);
  return options;
}

Address AddressOf(const test::RedisServer& server) {
  Address address;
  address.socket = server.socket();
  return address;
}

// Takes connections on a port of 127.0.0.1 and says `greeting` to each, then nothing more.
class FakeServer {
 public:
  explicit FakeServer(std::string greeting) : greeting_(std::move(greeting)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &size), 0);
    address_.host = "127.0.0.1";
    address_.port = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int fd : taken_) ::close(fd);
    ::close(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  const Address& address() const { return address_; }
  int taken() const { return static_cast<int>(taken_count_); }

 private:
  void Serve() {
    for (int fd = 0; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      taken_.push_back(fd);
      ++taken_count_;
      static_cast<void>(::send(fd, greeting_.data(), greeting_.size(), MSG_NOSIGNAL));
    }
  }

  const std::string greeting_;
  int listener_ = -1;
  Address address_;
  std::vector<int> taken_;
  std::atomic<int> taken_count_ = 0;
  std::thread thread_;
};

// That many calls, each with minutes to go, end in seconds: none waits for who does not answer.
void ExpectRefusedAtOnce(Client& client, int calls) {
  const auto start = steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    const auto reply = client.Run(Late(), {"GET", "k"});
    EXPECT_EQ(ReasonOf(reply.status()), Reason::kRedisUnavailable) << reply.status();
  }
  EXPECT_LT(steady_clock::now() - start, seconds(60));
}

TEST(RedisOutage, NobodyThereCostsNothing) {
  Address address;
  address.socket = "/tmp/winnow-no-redis-there.sock";
  Metrics metrics;
  Client client(Quick(address), metrics);
  ExpectRefusedAtOnce(client, 1'000);
  EXPECT_TRUE(client.away());
  EXPECT_THAT(metrics.Render(), ::testing::HasSubstr("winnow_redis_up 0"));
}

TEST(RedisOutage, WhatSpeaksAnotherProtocolIsNoRedis) {
  FakeServer http("HTTP/1.1 400 Bad Request\r\nServer: secret\r\n\r\n");
  Metrics metrics;
  Client client(Quick(http.address()), metrics);
  ExpectRefusedAtOnce(client, 100);
}

TEST(RedisOutage, ALiarIsNoRedis) {
  for (const char* lie :
       {"+OK\r\n", "*99999999\r\n", "$2147483647\r\nx", ":1\r\n", "-NOAUTH x\r\n"}) {
    FakeServer liar(lie);
    Metrics metrics;
    PoolOptions options = Quick(liar.address());
    options.connect_timeout = milliseconds(100);
    Client client(options, metrics);
    ExpectRefusedAtOnce(client, 20);
  }
}

TEST(RedisOutage, OneThatNeverAnswersIsAway) {
  FakeServer silent("");
  Metrics metrics;
  PoolOptions options = Quick(silent.address());
  options.connect_timeout = milliseconds(100);
  Client client(options, metrics);
  ExpectRefusedAtOnce(client, 100);
}

TEST(RedisOutage, OneThatNeverAnswersHoldsNoEndUp) {
  FakeServer silent("");
  Metrics metrics;
  PoolOptions options = Quick(silent.address());
  options.connect_timeout = std::chrono::minutes(20);
  auto client = std::make_unique<Client>(options, metrics);
  EXPECT_TRUE(Eventually([&] {
    EXPECT_FALSE(client->Run(steady_clock::now() + milliseconds(20), {"GET", "k"}).ok());
    return silent.taken() == 1;
  }));
  client.reset();
}

TEST(RedisOutage, AStallCostsOneDeadlineInAll) {
  test::RedisServer server;
  Metrics metrics;
  PoolOptions options = Quick(AddressOf(server));
  options.connect_timeout = milliseconds(200);
  Client client(options, metrics);
  ASSERT_TRUE(client.Check().ok());
  server.Stall();
  EXPECT_EQ(client.Run(steady_clock::now() + milliseconds(300), {"GET", "k"}).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(client.away());
  ExpectRefusedAtOnce(client, 100);
  server.Resume();
  EXPECT_TRUE(Eventually([&] { return client.Check().ok(); }));
}

TEST(RedisOutage, AShortPatienceSaysNothingAboutRedis) {
  test::RedisServer server;
  Metrics metrics;
  Client client(Quick(AddressOf(server)), metrics);
  ASSERT_TRUE(client.Check().ok());
  const std::vector<Command> wait = {{"BLPOP", "never", "0"}};
  // Again, because a paused machine makes any patience a long one.
  EXPECT_TRUE(Eventually([&] {
    EXPECT_FALSE(client.Pipeline(steady_clock::now() + milliseconds(20), wait).ok());
    return !client.away();
  }));
}

TEST(RedisOutage, AKilledAndRestartedServerIsFoundAgain) {
  test::RedisServer server;
  Metrics metrics;
  Client client(Quick(AddressOf(server)), metrics);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Eventually([&] { return client.Run(Late(), {"SET", "k", "v"}).ok(); }));
    server.Kill();
    EXPECT_FALSE(client.Run(Late(), {"GET", "k"}).ok());
    EXPECT_TRUE(Eventually([&] { return client.away(); }));
    server.Start();
    EXPECT_TRUE(Eventually([&] { return client.Run(Late(), {"GET", "k"}).ok(); }));
    EXPECT_TRUE(client.Run(Late(), {"GET", "k"})->IsNil());  // it came back empty
  }
}

TEST(RedisOutage, CallsInFlightEndWhenTheServerDies) {
  test::RedisServer server;
  Metrics metrics;
  Client client(Quick(AddressOf(server)), metrics);
  ASSERT_TRUE(client.Check().ok());
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_FALSE(client.Run(Late(), {"BLPOP", "never", "0"}).ok());
      ++ended;
    });
  }
  Client observer(Quick(AddressOf(server)), metrics);
  EXPECT_TRUE(Eventually([&] {
    const auto info = observer.Run(Late(), {"INFO", "clients"});
    return info.ok() && info->text()->find("blocked_clients:4") != std::string::npos;
  }));
  server.Kill();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 4);
}

}  // namespace
}  // namespace winnow::redis
