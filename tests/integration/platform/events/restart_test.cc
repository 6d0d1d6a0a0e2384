#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "services/platform/events/core/relay.h"
#include "tests/integration/platform/events/events_fixture.h"
#include "tests/support/postgres/plans.h"

namespace winnow::events {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using EventRestarts = EventsTest;

TEST_F(EventRestarts, WhatWasNotDoneIsDeliveredAfterwards) {
  Recorder recorder;
  recorder.Answer("stuck", {Away()});
  {
    const auto transport = MakeTransport();
    transport->AddProducer("one");
    transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
    ASSERT_TRUE(transport->Start().ok());
    Write({Collected("stuck"), Collected("fine")});
    ASSERT_TRUE(recorder.AwaitDelivery("stuck"));
    ASSERT_TRUE(test::Eventually([&] { return Count("one.outbox") == 1; }));
    transport->Stop(Soon());
  }
  EXPECT_EQ(Count("one.outbox"), 1);
  Recorder second;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(second.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(second.AwaitDelivery("stuck"));
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(second.items(), 1U);
}

TEST_F(EventRestarts, StopFlushesTheWholeChainOfOutboxes) {
  Recorder last;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddProducer("two");
  transport->AddConsumer({"dedup", kCollected,
                          [&](std::span<const Envelope> batch) {
                            std::vector<Envelope> reported;
                            for (const Envelope& envelope : batch) {
                              reported.push_back(Accepted(envelope.item_collected().item_id()));
                            }
                            Write(reported, "two");
                            return std::vector<Status>(batch.size());
                          },
                          100});
  transport->AddConsumer(last.AsConsumer("newsfeed", kAccepted));
  ASSERT_TRUE(transport->Start().ok());
  std::vector<Envelope> events;
  for (int i = 0; i < 5'000; ++i) events.push_back(Collected(std::to_string(i)));
  Write(events);
  transport->Stop(Soon());
  EXPECT_EQ(last.items(), 5'000U);
  EXPECT_EQ(Count("one.outbox"), 0);
  EXPECT_EQ(Count("two.outbox"), 0);
}

class EventTakeover : public EventsTest {
 protected:
  // A relay that got the lease for longer than a test lasts. Its process is alive while `pool` is.
  static std::unique_ptr<Relay> Hold(pg::Pool& pool, Metrics& metrics) {
    auto relay = std::make_unique<Relay>(pool, metrics, "one",
                                         RelayOptions{.lease = std::chrono::hours(1)}, [](auto) {});
    EXPECT_TRUE(relay->Step().ok());
    return relay;
  }
};

TEST_F(EventTakeover, TheOutboxOfAProcessThatDiedIsFreeAtOnce) {
  auto dying = std::make_unique<pg::Pool>(PoolOptions(pool_url_), metrics_);
  const auto relay = Hold(*dying, metrics_);
  Recorder recorder;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  Write({Collected("1")});
  // While the holder lives nobody else gets the outbox, however often they look.
  Relay rival(pool_, metrics_, "one", {}, [](auto) {});
  for (int looks = 0; looks < 20; ++looks) EXPECT_EQ(rival.Step().value_or(1), 0U);
  EXPECT_EQ(recorder.deliveries(), 0U);
  dying.reset();  // its connections end, as kill -9 ends them; the lease stands
  EXPECT_TRUE(recorder.AwaitDelivery("1"));
  EXPECT_TRUE(AwaitEmpty());
}

TEST_F(EventTakeover, BehindAPoolerOnlyTimeTellsThatAHolderDied) {
  auto dying = std::make_unique<pg::Pool>(PoolOptions(pool_url_), metrics_);
  const auto relay = Hold(*dying, metrics_);
  dying.reset();
  Write({Collected("1")});
  pg::Pool pooled(PoolOptions(pool_url_ + "&pooling=transaction"), metrics_);
  Relay rival(pooled, metrics_, "one", {}, [](auto) {});
  EXPECT_EQ(rival.Step().value_or(1), 0U);
}

TEST_F(EventRestarts, FindsItsRowsByIndexInAnOutboxNeverAnalysed) {
  pg::Pool pool({.name = "plans", .url = pool_url_, .password = "", .connections = 1}, metrics_);
  Recorder recorder;
  recorder.Answer("never", {InvalidArgument({{"item_id", "is nobody's"}})});
  InProcessTransport transport(pool, metrics_, Quick());
  transport.AddProducer("one");
  transport.AddConsumer(recorder.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport.Start().ok());
  Write({Collected("never"), Collected("1")});
  ASSERT_TRUE(AwaitEmpty());
  transport.Stop(Soon());
  EXPECT_EQ(Count("one.dead_letters"), 1);
  const auto plans = test::KeptPlans(pool);
  for (const char* name : {"read", "remove", "bury", "backlog"}) {
    const auto plan = plans.find(std::string("one.outbox_") + name);
    ASSERT_NE(plan, plans.end()) << name;
    EXPECT_THAT(plan->second, Not(HasSubstr("Seq Scan on outbox"))) << name;
  }
}

TEST_F(EventRestarts, StopEndsAtItsDeadlineAndLeavesTheRest) {
  std::atomic<int> done = 0;
  std::latch first(1);
  std::latch may_go_on(1);
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer({"dedup", kCollected,
                          [&](std::span<const Envelope> batch) {
                            if (done++ == 0) first.count_down();
                            may_go_on.wait();
                            return std::vector<Status>(batch.size());
                          },
                          1});
  ASSERT_TRUE(transport->Start().ok());
  Write({Collected("1"), Collected("2"), Collected("3")});
  first.wait();
  std::thread stopper([&] { transport->Stop(std::chrono::steady_clock::now()); });
  // Not ended yet: the delivery that runs is waited for, and the next do not begin.
  may_go_on.count_down();
  stopper.join();
  EXPECT_GE(done, 1);
  EXPECT_EQ(Count("one.outbox"), 3 - done);
}

TEST_F(EventRestarts, WithoutStartStopDoesNothing) {
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  Write({Collected("1")});
  transport->Stop(Soon());
  EXPECT_EQ(Count("one.outbox"), 1);
}

// Writers go on while the delivering side is stopped at once again and again, and while the server
// cuts all connections: each event arrives at least once, and each leaves the outbox.
TEST_F(EventRestarts, EachEventArrivesAtLeastOnceWhateverEnds) {
  constexpr int kEvents = 6'000;
  Recorder recorder;
  std::atomic<bool> writing = true;
  std::thread writer([&] {
    for (int i = 0; i < kEvents;) {
      std::vector<Envelope> events;
      for (const int end = std::min(kEvents, i + 10); i < end; ++i) {
        events.push_back(Collected(std::to_string(i)));
      }
      EXPECT_TRUE(test::Eventually([&] {  // a commit may be cut, and is then put twice
        return pool_
            .Transaction(Soon(),
                         [&](pg::Session& session) {
                           Append(session, "one", events);
                           return OkStatus();
                         })
            .ok();
      }));
    }
    writing = false;
  });
  std::mt19937 random(7);
  int rounds = 0;
  for (; writing || rounds < 5; ++rounds) {
    const auto transport = MakeTransport();
    transport->AddProducer("one");
    transport->AddConsumer(recorder.AsConsumer("dedup", kCollected, 20));
    ASSERT_TRUE(transport->Start().ok());
    const size_t goal = recorder.deliveries() + 1 + random() % 100;
    test::Eventually([&] { return recorder.deliveries() >= goal || !writing; });
    if (rounds % 3 == 0) {
      const auto cut = pool_.Statements(Soon(), [](pg::Session& session) {
        session.ExecuteText(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()");
        return OkStatus();
      });
      static_cast<void>(cut);  // it may itself meet a connection that was cut before
    }
    transport->Stop(std::chrono::steady_clock::now());
  }
  writer.join();
  RecordProperty("restarts", rounds);
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(test::Eventually([&] {
    const auto left = pool_.Statements(Soon(), [](pg::Session& session) -> StatusOr<int64_t> {
      return session.ExecuteText("SELECT count(*) FROM one.outbox")[0][0].as<int64_t>();
    });
    return left.ok() && *left == 0;
  }));
  EXPECT_EQ(recorder.items(), static_cast<size_t>(kEvents));
}

}  // namespace
}  // namespace winnow::events
