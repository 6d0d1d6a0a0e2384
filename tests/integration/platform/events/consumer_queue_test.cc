#include "services/platform/events/core/consumer_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "services/platform/process/metrics.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

// What becomes of deliveries whose connection is lost: the broker sends them again.
namespace winnow::events {
namespace {

using test::Eventually;

class Connection final : public Origin {
 public:
  void Settle(std::vector<DeliveryResult> endings) override { settled_ += endings.size(); }
  bool Lost() const override { return lost_; }
  void Lose() { lost_ = true; }
  size_t settled() const { return settled_; }

 private:
  std::atomic<bool> lost_ = false;
  std::atomic<size_t> settled_ = 0;
};

class LostOrigin : public testing::Test {
 protected:
  // Refuses an event for now, until it was delivered as often as its plan says.
  std::vector<Status> Deliver(std::span<const Envelope> envelopes) {
    gate_.Wait();
    const std::lock_guard lock(mutex_);
    std::vector<Status> statuses;
    for (const Envelope& envelope : envelopes) {
      const bool done = ++deliveries_[envelope.id()] >= plan_[envelope.id()];
      statuses.push_back(done ? OkStatus() : Aborted(Reason::kWriteConflict, "again"));
    }
    return statuses;
  }
  int deliveries(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return deliveries_[id];
  }
  void Push(const std::string& id, const std::shared_ptr<Connection>& origin, int plan) {
    {
      const std::lock_guard lock(mutex_);
      plan_[id] = plan;
    }
    Delivery delivery{.envelope = {}, .origin = origin, .ticket = 1};
    delivery.envelope.set_id(id);
    std::vector<Delivery> deliveries;
    deliveries.push_back(std::move(delivery));
    queue_.Push(std::move(deliveries));
  }
  void Lose(Connection& connection) {
    connection.Lose();
    queue_.Forget(connection);
  }
  // An event of another connection that comes so often that all earlier ones have come again too.
  void AwaitManyRounds() {
    const auto next = std::make_shared<Connection>();
    Push("next", next, 15);
    EXPECT_TRUE(Eventually([&] { return next->settled() == 1; }));
  }

  test::Gate gate_;
  std::mutex mutex_;
  std::map<std::string, int> plan_;
  std::map<std::string, int> deliveries_;
  Metrics metrics_;
  ConsumerQueue queue_{Consumer{.service = "s",
                                .event = "e",
                                .deliver = [this](auto envelopes) { return Deliver(envelopes); },
                                .max_batch = 1},
                       QueueOptions{.max_deliveries = 1000,
                                    .first_backoff = std::chrono::milliseconds(2),
                                    .max_backoff = std::chrono::milliseconds(2)},
                       metrics_};
};

TEST_F(LostOrigin, IsDeliveredNoMoreWhereItWaits) {
  const auto lost = std::make_shared<Connection>();
  queue_.Start();
  Push("first", lost, 1'000'000);
  ASSERT_TRUE(Eventually([&] { return gate_.Waiting() == 1; }));
  Push("second", lost, 1);
  Lose(*lost);
  gate_.Open();
  AwaitManyRounds();
  EXPECT_EQ(deliveries("first"), 1);  // the one that was running
  EXPECT_EQ(deliveries("second"), 0);
  EXPECT_EQ(lost.use_count(), 1);  // nothing is kept of it
}

TEST_F(LostOrigin, IsDeliveredNoMoreWhereItWaitsForAnotherTry) {
  const auto lost = std::make_shared<Connection>();
  gate_.Open();
  queue_.Start();
  Push("old", lost, 1'000'000);
  ASSERT_TRUE(Eventually([&] { return deliveries("old") >= 2; }));
  Lose(*lost);
  AwaitManyRounds();
  const int delivered = deliveries("old");
  queue_.Forget(*lost);
  AwaitManyRounds();
  EXPECT_EQ(deliveries("old"), delivered);
  EXPECT_EQ(lost.use_count(), 1);
}

// A full disk asks for seconds: a queue of many events must not try it again and again.
TEST(Refused, AnEventWaitsAsLongAsTheErrorAsks) {
  constexpr std::chrono::milliseconds kAsked(300);
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> tries;
  Metrics metrics;
  ConsumerQueue queue(
      Consumer{.service = "s",
               .event = "e",
               .deliver =
                   [&](auto) {
                     const std::lock_guard lock(mutex);
                     tries.push_back(std::chrono::steady_clock::now());
                     const bool refused = tries.size() < 3;
                     return std::vector<Status>{
                         refused ? Unavailable(Reason::kStoreUnavailable, "full", kAsked)
                                 : OkStatus()};
                   }},
      QueueOptions{.first_backoff = std::chrono::milliseconds(1)}, metrics);
  const auto origin = std::make_shared<Connection>();
  queue.Start();
  std::vector<Delivery> deliveries;
  deliveries.push_back({.envelope = {}, .origin = origin, .ticket = 1});
  queue.Push(std::move(deliveries));
  ASSERT_TRUE(Eventually([&] { return origin->settled() == 1; }));
  const std::lock_guard lock(mutex);
  ASSERT_EQ(tries.size(), 3U);
  EXPECT_GE(tries[1] - tries[0], kAsked);
  EXPECT_GE(tries[2] - tries[1], kAsked);
}

}  // namespace
}  // namespace winnow::events
