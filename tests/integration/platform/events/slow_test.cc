// What is slow: PostgreSQL, whose fault no event is made to bear, and an event that is itself.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/integration/platform/events/events_fixture.h"
#include "tests/integration/platform/events/slow_store.h"
#include "tests/support/postgres/locked_table.h"

namespace winnow::events {
namespace {

using test::Eventually;

class SlowEvents : public EventsTest {
 protected:
  static InProcessOptions Few() {
    InProcessOptions options = Quick();
    options.queue.max_deliveries = 3;
    return options;
  }
  void Start(Consumer consumer, InProcessOptions options = Few()) {
    transport_ = MakeTransport(options);
    transport_->AddProducer("one");
    transport_->AddConsumer(std::move(consumer));
    ASSERT_TRUE(transport_->Start().ok());
  }
  std::unique_ptr<InProcessTransport> transport_;
};

TEST_F(SlowEvents, ALockOfAnyLengthMakesNoDeadLetter) {
  SlowStore store(pool_);
  test::LockedTable lock(pool_url_, "public.kept");
  Start({"dedup", kCollected, [&](auto envelopes) { return store.Deliver(envelopes); }});
  Write({Collected("1"), Collected("2"), Collected("3")});
  ASSERT_TRUE(Eventually([&] { return store.timeouts() > 12; })) << store.tries();
  store.BePatient();
  lock.Release();
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(Count("one.dead_letters"), 0);
  EXPECT_EQ(store.kept(), 3);
}

TEST_F(SlowEvents, OneThatTimesOutAlwaysIsDeadLetterOnceOthersAreDone) {
  Recorder recorder;
  for (const char* poison : {"p1", "p2"}) recorder.Answer(poison, {DeadlineExceeded("slow")});
  Start(recorder.AsConsumer("dedup", kCollected));
  Write({Collected("p1"), Collected("p2")});
  // While nothing is done, it may be the store.
  ASSERT_TRUE(Eventually(
      [&] { return recorder.DeliveriesOf("p1") > 10 && recorder.DeliveriesOf("p2") > 10; }));
  EXPECT_EQ(Count("one.dead_letters"), 0);
  int healthy = 0;
  EXPECT_TRUE(Eventually([&] {
    Write({Collected(std::to_string(healthy++))});
    return Count("one.dead_letters") == 2;
  }));
  EXPECT_TRUE(AwaitEmpty());
  EXPECT_EQ(Count("one.dead_letters WHERE reason = 'DEADLINE_EXCEEDED: slow'"), 2);
  EXPECT_EQ(recorder.items(), static_cast<size_t>(healthy) + 2);
}

TEST_F(SlowEvents, ABatchThatTimedOutComesAgainOneByOne) {
  std::atomic<int> done = 0;
  Start({"dedup", kCollected, [&](std::span<const Envelope> batch) {
           bool slow = batch.size() > 1;
           for (const Envelope& each : batch) slow = slow || each.item_collected().item_id() == "7";
           if (!slow) ++done;
           return std::vector<Status>(batch.size(), slow ? DeadlineExceeded("slow") : OkStatus());
         }});
  std::vector<Envelope> events;
  for (int i = 0; i < 20; ++i) events.push_back(Collected(std::to_string(i)));
  Write(events);
  EXPECT_TRUE(Eventually([&] { return done == 19; })) << done;
  EXPECT_TRUE(Eventually([&] { return Count("one.outbox") <= 1; }));
}

// Their next try is due as soon as one has ended: they must not take turns for ever.
TEST_F(SlowEvents, SomeThatTimeOutAlwaysHoldNobodyUp) {
  std::atomic<int> done = 0;
  InProcessOptions options = Few();
  options.queue.first_backoff = options.queue.max_backoff = std::chrono::milliseconds(0);
  Start({"dedup", kCollected,
         [&](std::span<const Envelope> batch) {
           const bool slow = batch[0].item_collected().item_id().starts_with("p");
           if (!slow) ++done;
           return std::vector<Status>{slow ? DeadlineExceeded("slow") : OkStatus()};
         },
         1},
        options);
  std::vector<Envelope> events = {Collected("p1"), Collected("p2"), Collected("p3")};
  for (int i = 0; i < 200; ++i) events.push_back(Collected(std::to_string(i)));
  Write(events);
  EXPECT_TRUE(Eventually([&] { return done == 200; })) << done;
}

TEST_F(SlowEvents, ReasonsAreACodeAndAMessage) {
  Recorder recorder;
  recorder.Answer("bad", {InvalidField("item_id", "is no UUID")});
  recorder.Answer("lost", {NotFound("item", "lost")});
  Start(recorder.AsConsumer("dedup", kCollected));
  Write({Collected("bad"), Collected("lost")});
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(Query("SELECT string_agg(reason, ' | ' ORDER BY reason) FROM one.dead_letters"),
            "INVALID_ARGUMENT: item_id: is no UUID | " +
                ("NOT_FOUND: " + Message(NotFound("item", "lost"))));
}

}  // namespace
}  // namespace winnow::events
