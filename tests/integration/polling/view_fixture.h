#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/polling/view/view_worker.h"
#include "tests/integration/polling/fixture.h"
#include "tests/support/redis/redis.h"

namespace winnow::polling {

inline constexpr const char* kProcessing = "stt:polling:processing";
inline constexpr const char* kSummarizing = "stt:polling:summarizing";

// A view beside a Redis, which works when it is called, and another program that reads.
class PollingViewTest : public PollingTest {
 protected:
  explicit PollingViewTest(test::RedisMode mode = test::RedisMode::kPlain) : server_("", mode) {}

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
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  Pairs Shown(const std::string& key) {
    const auto pairs = Run({"ZRANGE", key, "0", "-1", "WITHSCORES"}).Pairs();
    EXPECT_TRUE(pairs.ok()) << pairs.status();
    return pairs.ok() ? *pairs : Pairs();
  }
  int64_t Count(const std::string& key) { return Run({"ZCARD", key}).Integer().value_or(-1); }

  // History gets its positions, then the view follows.
  Status Look() {
    while (true) {
      WINNOW_ASSIGN_OR_RETURN(const int64_t numbered, sequencer_.NumberSome(Soon()));
      if (numbered == 0) return view_.Look();
    }
  }
  void RegisterMany(int count) {
    std::vector<NewJob> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back({"j" + std::to_string(i), "", "", {}});
    const auto made = store_.Register(Soon(), "stt", jobs, "");
    ASSERT_TRUE(made.ok()) << made.status();
  }
  void MoveOn(const Job& job) {
    ASSERT_TRUE(
        store_.Do(Soon(), job.key, command::Transition{job.token, "summarizing", Micros(0)}, "")
            .ok());
  }

  test::RedisServer server_;
  std::unique_ptr<redis::Client> client_ = Connect();
  std::unique_ptr<redis::Client> reader_ = Connect();  // another program
  pg::Pool logs_{{.name = "log", .url = url_}, metrics_};
  pg::Sequencer sequencer_{logs_, EventSequence()};
  ViewWorker view_{store_, *client_, metrics_, ViewWorker::Options()};
};

}  // namespace winnow::polling
