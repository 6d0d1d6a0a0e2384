#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <random>
#include <set>
#include <thread>

#include "tests/integration/platform/events/events_fixture.h"

namespace winnow::events {
namespace {

using EventDelivery = EventsTest;

TEST_F(EventDelivery, EachConsumerOfAnEventGetsItFromAnySchema) {
  Recorder dedup, audit, newsfeed;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddProducer("two");
  transport->AddConsumer(dedup.AsConsumer("dedup", kCollected));
  transport->AddConsumer(audit.AsConsumer("audit", kCollected));
  transport->AddConsumer(newsfeed.AsConsumer("newsfeed", kAccepted));
  ASSERT_TRUE(transport->Start().ok());
  Write({Collected("1"), Accepted("2")}, "one");
  Write({Collected("3")}, "two");
  ASSERT_TRUE(AwaitEmpty("one") && AwaitEmpty("two"));
  EXPECT_EQ(dedup.items(), 2U);
  EXPECT_EQ(audit.items(), 2U);
  EXPECT_EQ(newsfeed.items(), 1U);
  EXPECT_EQ(newsfeed.DeliveriesOf("2"), 1);
}

TEST_F(EventDelivery, ARowStaysUntilItsLastConsumerIsDone) {
  Recorder quick, slow;
  slow.Answer("1", {Away()});
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(quick.AsConsumer("quick", kCollected));
  transport->AddConsumer(slow.AsConsumer("slow", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  Write({Collected("1")});
  ASSERT_TRUE(test::Eventually([&] { return slow.DeliveriesOf("1") > 3; }));
  EXPECT_EQ(quick.DeliveriesOf("1"), 1);
  EXPECT_EQ(Count("one.outbox"), 1);
  slow.Answer("1", {OkStatus()});
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(quick.DeliveriesOf("1"), 1);
}

TEST_F(EventDelivery, AnEventThatNobodyConsumesIsDropped) {
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  ASSERT_TRUE(transport->Start().ok());
  Write({Collected("1"), Accepted("2")});
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(Count("one.dead_letters"), 0);
}

TEST_F(EventDelivery, EventsArriveAsTheyWereWritten) {
  Envelope seen;
  std::atomic<bool> got = false;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer({"dedup", kCollected, [&](std::span<const Envelope> batch) {
                            seen = batch.front();
                            got = true;
                            return std::vector<Status>(batch.size());
                          }});
  ASSERT_TRUE(transport->Start().ok());
  Envelope event = NewEnvelope(SystemClock().Now(), "뉴스",
                               "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  event.mutable_item_collected()->set_item_id("it's \\ \"1\"");
  Write({event});
  ASSERT_TRUE(test::Eventually([&] { return got.load(); }));
  transport->Stop(Soon());
  EXPECT_EQ(seen.SerializeAsString(), event.SerializeAsString());
}

TEST_F(EventDelivery, BatchesAreNoLargerThanTheConsumerTakes) {
  std::atomic<size_t> largest = 0;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer({"dedup", kCollected,
                          [&](std::span<const Envelope> batch) {
                            largest = std::max(largest.load(), batch.size());
                            return std::vector<Status>(batch.size());
                          },
                          7});
  std::vector<Envelope> events;
  for (int i = 0; i < 500; ++i) events.push_back(Collected(std::to_string(i)));
  Write(events);
  ASSERT_TRUE(transport->Start().ok());
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(largest, 7U);
}

TEST_F(EventDelivery, AWakeIsEnoughWithoutPolling) {
  Recorder recorder;
  InProcessOptions options = Quick();
  options.poll_interval = std::chrono::hours(1);
  const auto transport = MakeTransport(options);
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  for (int i = 0; i < 5; ++i) {
    Write({Collected(std::to_string(i))});
    transport->Wake("one");
    ASSERT_TRUE(recorder.AwaitDelivery(std::to_string(i)));
  }
  transport->Wake("nobody's schema");
}

TEST_F(EventDelivery, AWriterThatCommitsLaterThanALaterOneIsNotSkipped) {
  Recorder recorder;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  ASSERT_TRUE(transport->Start().ok());
  std::latch written(1), may_commit(1);
  std::thread writer([&] {
    const Status status = pool_.Transaction(Soon(), [&](pg::Session& session) {
      Append(session, "one", std::vector{Collected("lower id")});
      written.count_down();
      may_commit.wait();
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  });
  written.wait();
  Write({Collected("higher id")});
  EXPECT_TRUE(recorder.AwaitDelivery("higher id"));
  EXPECT_TRUE(AwaitEmpty());
  may_commit.count_down();
  writer.join();
  EXPECT_TRUE(recorder.AwaitDelivery("lower id"));
}

TEST_F(EventDelivery, TwoProcessesOnOneSchemaDeliverEachEventOnce) {
  Recorder recorders[2];
  // Connections of its own each: a session does not block on its own liveness lock.
  std::vector<std::unique_ptr<pg::Pool>> pools;
  std::vector<std::unique_ptr<InProcessTransport>> transports;
  for (Recorder& recorder : recorders) {
    pools.push_back(std::make_unique<pg::Pool>(PoolOptions(pool_url_), metrics_));
    transports.push_back(std::make_unique<InProcessTransport>(*pools.back(), metrics_, Quick()));
    transports.back()->AddProducer("one");
    transports.back()->AddConsumer(recorder.AsConsumer("dedup", kCollected));
    ASSERT_TRUE(transports.back()->Start().ok());
  }
  for (int i = 0; i < 50; ++i) Write({Collected(std::to_string(i))});
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(recorders[0].deliveries() + recorders[1].deliveries(), 50U);
  // When the one that drains ends, the other goes on.
  const int drained_by = recorders[0].deliveries() > 0 ? 0 : 1;
  transports[static_cast<size_t>(drained_by)]->Stop(Soon());
  Write({Collected("late")});
  EXPECT_TRUE(recorders[1 - drained_by].AwaitDelivery("late"));
}

TEST_F(EventDelivery, TheLeaseOfAProcessThatDiedEnds) {
  Run("INSERT INTO one.outbox_lease (holder, renew_time, expire_time) VALUES"
      " (gen_random_uuid(), clock_timestamp(), clock_timestamp() + interval '1 s')");
  Recorder recorder;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  Write({Collected("1")});
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(recorder.AwaitDelivery("1"));
  EXPECT_EQ(Query("SELECT count(*) FROM one.outbox_lease"), "1");
}

TEST_F(EventDelivery, ALeaseFromBeforeTheServerStartedIsFree) {
  Run("INSERT INTO one.outbox_lease (holder, renew_time, expire_time) VALUES"
      " (gen_random_uuid(), pg_postmaster_start_time() - interval '1 s', 'infinity')");
  Recorder recorder;
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  transport->AddConsumer(recorder.AsConsumer("dedup", kCollected));
  Write({Collected("1")});
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(recorder.AwaitDelivery("1"));
}

TEST_F(EventDelivery, HealthTellsThatAnOutboxCannotBeDrainedAndThatItCanAgain) {
  const auto transport = MakeTransport();
  transport->AddProducer("one");
  EXPECT_FALSE(transport->Check().ok());
  ASSERT_TRUE(transport->Start().ok());
  EXPECT_TRUE(transport->Check().ok());
  Run("ALTER TABLE one.outbox RENAME TO elsewhere");
  EXPECT_TRUE(test::Eventually([&] { return !transport->Check().ok(); }));
  Run("ALTER TABLE one.elsewhere RENAME TO outbox");
  EXPECT_TRUE(test::Eventually([&] { return transport->Check().ok(); }));
}

}  // namespace
}  // namespace winnow::events
