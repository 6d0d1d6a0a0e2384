#include <gmock/gmock.h>

#include <atomic>

#include "tests/integration/platform/events/events_fixture.h"

namespace winnow::events {
namespace {

using ::testing::HasSubstr;

class EventRetries : public EventsTest {
 protected:
  // One transport with one consumer of ItemCollected.
  void Start(InProcessOptions options = Quick(), int max_batch = 500) {
    transport_ = MakeTransport(options);
    transport_->AddProducer("one");
    transport_->AddConsumer(recorder_.AsConsumer("dedup", kCollected, max_batch));
    ASSERT_TRUE(transport_->Start().ok());
  }
  Recorder recorder_;
  std::unique_ptr<InProcessTransport> transport_;
};

TEST_F(EventRetries, WhatMayGoAwayComesAgain) {
  for (const Status& status : {Away(), Collided(), DeadlineExceeded("late"),
                               Overloaded("full", std::chrono::milliseconds(1))}) {
    recorder_.Answer(std::to_string(static_cast<int>(status.code())), {status, OkStatus()});
  }
  Start();
  Write({Collected("14"), Collected("10"), Collected("4"), Collected("8")});
  ASSERT_TRUE(AwaitEmpty());
  for (const char* item : {"14", "10", "4", "8"}) EXPECT_EQ(recorder_.DeliveriesOf(item), 2);
  EXPECT_EQ(Count("one.dead_letters"), 0);
}

TEST_F(EventRetries, OneEventThatComesAgainHoldsNobodyUp) {
  recorder_.Answer("stuck", {Away()});
  Start();
  std::vector<Envelope> events = {Collected("stuck")};
  for (int i = 0; i < 3'000; ++i) events.push_back(Collected(std::to_string(i)));
  Write(events);
  ASSERT_TRUE(test::Eventually([&] { return Count("one.outbox") == 1; }));
  EXPECT_EQ(recorder_.items(), 3'001U);
  ASSERT_TRUE(test::Eventually([&] { return recorder_.DeliveriesOf("stuck") > 5; }));
}

TEST_F(EventRetries, EachTryWaitsLongerThanTheOneBefore) {
  InProcessOptions options = Quick();
  options.queue.first_backoff = std::chrono::milliseconds(20);
  options.queue.max_backoff = std::chrono::milliseconds(80);
  recorder_.Answer("slow", {Away(), Away(), Away(), Away(), Away(), OkStatus()});
  Start(options);
  Write({Collected("slow")});
  ASSERT_TRUE(AwaitEmpty());
  const std::vector<Deadline> times = recorder_.TimesOf("slow");
  ASSERT_EQ(times.size(), 6U);
  // Less up to a half at random: these are the least waits.
  const int least_ms[] = {10, 20, 40, 40, 40};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_GE(times[i + 1] - times[i], std::chrono::milliseconds(least_ms[i])) << i;
  }
}

TEST_F(EventRetries, AfterMaxDeliveriesAnEventIsDeadLetterWithItsReason) {
  InProcessOptions options = Quick();
  options.queue.max_deliveries = 4;
  recorder_.Answer("poison", {Collided()});
  Start(options);
  const Envelope event = Collected("poison");
  Write({event, Collected("fine")});
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(recorder_.DeliveriesOf("poison"), 4);
  EXPECT_EQ(Count("one.dead_letters"), 1);
  EXPECT_EQ(Query("SELECT consumer || ' ' || event || ' ' || deliveries FROM one.dead_letters"),
            std::string("dedup ") + kCollected + " 4");
  EXPECT_THAT(Query("SELECT reason FROM one.dead_letters"), HasSubstr("collided"));
  EXPECT_EQ(Query("SELECT encode(envelope, 'escape') LIKE '%poison%' FROM one.dead_letters"), "t");
}

TEST_F(EventRetries, AnOutageOfAnyLengthMakesNoDeadLetter) {
  InProcessOptions options = Quick();
  options.queue.max_deliveries = 2;
  std::vector<Status> answers(30, Away());
  answers.push_back(OkStatus());
  recorder_.Answer("patient", answers);
  Start(options);
  Write({Collected("patient")});
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(recorder_.DeliveriesOf("patient"), 31);
  EXPECT_EQ(Count("one.dead_letters"), 0);
}

TEST_F(EventRetries, APermanentErrorIsDeadLetterAtOnce) {
  recorder_.Answer("bad", {InvalidField("item_id", "is no UUID")});
  Start();
  Write({Collected("bad"), Collected("fine")});
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(recorder_.DeliveriesOf("bad"), 1);
  EXPECT_EQ(recorder_.DeliveriesOf("fine"), 1);
  EXPECT_EQ(Count("one.dead_letters"), 1);
}

TEST_F(EventRetries, APayloadThatIsNoneIsDeadLetterOfItsConsumer) {
  // An envelope that carries something else than its row says, and bytes that are not an envelope.
  Write({Accepted("1")});
  Run("UPDATE one.outbox SET event = 'winnow.events.v1.ItemCollected'");
  Run("INSERT INTO one.outbox (event, envelope)"
      " VALUES ('winnow.events.v1.ItemCollected', '\\xff')");
  Start();
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(recorder_.deliveries(), 0U);
  EXPECT_EQ(Count("one.dead_letters WHERE consumer = 'dedup' AND deliveries = 0"), 2);
}

TEST_F(EventRetries, AnEventOfANewerVersionIsKeptAsDeadLetter) {
  Start();
  Run("INSERT INTO one.outbox (event, envelope) VALUES ('winnow.events.v9.Unheard', '\\x0a')");
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(Query("SELECT consumer || '|' || event FROM one.dead_letters"),
            "|winnow.events.v9.Unheard");
  EXPECT_EQ(Query("SELECT encode(envelope, 'hex') FROM one.dead_letters"), "0a");
}

TEST_F(EventRetries, OnlyTheEventThatMakesAConsumerThrowIsDeadLetter) {
  std::atomic<int> done = 0;
  transport_ = MakeTransport();
  transport_->AddProducer("one");
  transport_->AddConsumer({"dedup", kCollected, [&](std::span<const Envelope> batch) {
                             for (const Envelope& envelope : batch) {
                               if (envelope.item_collected().item_id() == "bomb") {
                                 throw std::runtime_error("boom");
                               }
                             }
                             done += static_cast<int>(batch.size());
                             return std::vector<Status>(batch.size());
                           }});
  std::vector<Envelope> events;
  for (int i = 0; i < 50; ++i) events.push_back(Collected(i == 25 ? "bomb" : std::to_string(i)));
  Write(events);
  ASSERT_TRUE(transport_->Start().ok());
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(done, 49);
  EXPECT_EQ(Count("one.dead_letters"), 1);
}

TEST_F(EventRetries, AConsumerThatCannotNowIsAMetricUntilItCan) {
  const std::string held =
      "winnow_events_held{event=\"winnow.events.v1.ItemCollected\",service=\"dedup\"} ";
  const auto shows = [&](const std::string& value) {
    return test::Eventually(
        [&] { return metrics_.Render().find(held + value) != std::string::npos; });
  };
  recorder_.Answer("waits", {Away()});
  Start(Quick());
  Write({Collected("waits")});
  EXPECT_TRUE(shows("1"));
  recorder_.Answer("waits", {OkStatus()});
  EXPECT_TRUE(shows("0"));
  EXPECT_TRUE(AwaitEmpty());
}

TEST_F(EventRetries, WhatHappensToEventsIsCounted) {
  InProcessOptions options = Quick();
  options.queue.max_deliveries = 2;
  recorder_.Answer("poison", {Collided()});
  Start(options);
  Write({Collected("poison"), Collected("a"), Collected("b")});
  ASSERT_TRUE(AwaitEmpty());
  transport_->Stop(Soon());
  const std::string metrics = metrics_.Render();
  const std::string labels = "{event=\"winnow.events.v1.ItemCollected\",service=\"dedup\"}";
  EXPECT_THAT(metrics, HasSubstr("winnow_events_delivered_total" + labels + " 2"));
  EXPECT_THAT(metrics, HasSubstr("winnow_events_retried_total" + labels + " 1"));
  EXPECT_THAT(metrics, HasSubstr("winnow_events_dead_total" + labels + " 1"));
  EXPECT_THAT(metrics, HasSubstr("winnow_outbox_depth_rows{schema=\"one\"}"));
  EXPECT_THAT(metrics, HasSubstr("winnow_outbox_oldest_age_seconds{schema=\"one\"}"));
}

}  // namespace
}  // namespace winnow::events
