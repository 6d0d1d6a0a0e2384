#include "tests/support/process/test_platform.h"

#include <gtest/gtest.h>

#include <chrono>

#include "services/platform/config/config.h"

namespace winnow::test {
namespace {

constexpr std::chrono::seconds kStopTime(60);

config::v1::Config TestConfig() {
  config::v1::Config config;
  FillDefaults(config, ReadMachineLimits());
  config.set_listen("127.0.0.1:0");
  return config;
}

rpc::RuntimeOptions CallOptions() {
  rpc::RuntimeOptions options;
  options.default_deadline = kStopTime;
  return options;
}

pg::PoolOptions PoolOf(const std::string& name, const std::string& url) {
  return {.name = name, .url = url, .password = "", .connections = 4};
}

std::unique_ptr<redis::Client> RedisOf(const std::string& url, Metrics& metrics) {
  if (url.empty()) return nullptr;
  const auto address = redis::ParseUrl(url);
  EXPECT_TRUE(address.ok()) << address.status();
  return std::make_unique<redis::Client>(redis::PoolOptions{.address = *address}, metrics);
}

events::InProcessOptions QuickEvents() {
  events::InProcessOptions options;
  options.queue.first_backoff = std::chrono::milliseconds(5);
  options.queue.max_backoff = std::chrono::milliseconds(100);
  return options;
}

}  // namespace

TestPlatform::TestPlatform(const std::string& url, const std::string& redis_url)
    : config_(TestConfig()),
      runtime_(CallOptions(), metrics_),
      reads_(PoolOf("read", url), metrics_),
      writes_(PoolOf("write", url), metrics_),
      logs_(PoolOf("log", url), metrics_),
      transport_(writes_, metrics_, QuickEvents()),
      redis_(RedisOf(redis_url, metrics_)),
      parts_{config_, clock_, metrics_,   runtime_,    reads_,
             writes_, logs_,  transport_, redis_.get()} {}

TestPlatform::~TestPlatform() { Stop(); }

void TestPlatform::Serve(std::vector<rpc::Target> targets, bool with_events) {
  targets_ = std::move(targets);
  auto server = rpc::Server::Start(config_, runtime_, metrics_, targets_);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  channel_ = server_->InProcessChannel();
  auto peers = rpc::Peers::Make(config_, runtime_, targets_, channel_);
  ASSERT_TRUE(peers.ok()) << peers.status();
  peers_ = *std::move(peers);
  for (const rpc::Target& target : targets_) {
    const Status started = target.start(*peers_);
    ASSERT_TRUE(started.ok()) << target.name << ": " << started;
  }
  if (!with_events) return;
  const Status events = transport_.Start();
  ASSERT_TRUE(events.ok()) << events;
}

void TestPlatform::Stop() {
  if (server_ != nullptr) {
    server_->AnnounceEnd();
    EXPECT_TRUE(server_->Drain(std::chrono::steady_clock::now() + kStopTime));
  }
  transport_.Stop(std::chrono::steady_clock::now() + kStopTime);
  for (auto target = targets_.rbegin(); target != targets_.rend(); ++target) target->stop();
  peers_.reset();
  channel_.reset();
  server_.reset();
  targets_.clear();
}

}  // namespace winnow::test
