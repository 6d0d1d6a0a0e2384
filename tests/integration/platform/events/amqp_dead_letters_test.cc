// Dead letters on a real broker, through the calls of DeadLetterService.
#include "services/platform/events/amqp/amqp_dead_letters.h"

#include <gmock/gmock.h>

#include "services/platform/events/dead_letters/dead_letter_handlers.h"
#include "tests/integration/platform/events/amqp_fixture.h"
#include "tests/support/sync/eventually.h"

namespace winnow::events {
namespace {

using test::Eventually;
using testing::ElementsAre;
using testing::HasSubstr;

class AmqpDeadLettersTest : public AmqpTest {
 protected:
  static rpc::CallContext Call() { return rpc::BackgroundCall(std::chrono::seconds(60)); }

  void Start(int max_deliveries = 3) {
    transport_ = NewTransport(address(), &recorder_, max_deliveries);
    ASSERT_TRUE(transport_->Start().ok());
  }
  StatusOr<v1::ListDeadLettersResponse> Page(const v1::ListDeadLettersRequest& request = {}) {
    return handlers_->ListDeadLetters(Call(), request);
  }
  size_t Dead() {
    const auto page = Page();
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? static_cast<size_t>(page->dead_letters_size()) : 0;
  }
  // a0 is refused, a1 collides until it is given up.
  void MakeDead() {
    recorder_.Answer("a0", InvalidField("item_id", "is bad"));
    recorder_.Answer("a1", Aborted(Reason::kWriteConflict, "again and again"));
    Start();
    Append("a", 5);
    ASSERT_TRUE(Eventually([&] { return recorder_.done() == 3 && Dead() == 2; }));
  }

  Recorder recorder_;
  std::unique_ptr<AmqpTransport> transport_;
  AmqpDeadLetters dead_letters_{address()};  // not the transport's, which end with it
  std::optional<DeadLetterHandlers> handlers_{std::in_place, dead_letters_, metrics_};
};

TEST_F(AmqpDeadLettersTest, AreListedWithReasonAttemptsAndTimesAsOftenAsAsked) {
  MakeDead();
  for (int look = 0; look < 100; ++look) ASSERT_EQ(Dead(), 2U) << "look " << look;
  const auto page = Page();
  ASSERT_TRUE(page.ok()) << page.status();
  std::map<int, v1::DeadLetter> by_attempts;
  for (const auto& letter : page->dead_letters()) by_attempts[letter.attempts()] = letter;
  const v1::DeadLetter& refused = by_attempts[1];
  EXPECT_EQ(refused.queue(), kCollectedQueue);
  EXPECT_EQ(refused.event(), kCollected);
  EXPECT_EQ(refused.id(), std::string(kCollectedQueue) + "/" + refused.event_id());
  EXPECT_EQ(refused.namespace_(), "default");
  EXPECT_THAT(refused.reason(), HasSubstr("item_id"));
  EXPECT_GE(refused.dead_time().seconds(), refused.occur_time().seconds());
  EXPECT_THAT(by_attempts[3].reason(), HasSubstr("again and again"));

  // In pages, by queue and by event.
  v1::ListDeadLettersRequest request;
  request.set_page_size(1);
  const auto first = Page(request);
  ASSERT_TRUE(first.ok()) << first.status();
  request.set_page_token(first->next_page_token());
  const auto second = Page(request);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(first->dead_letters(0).id(), second->dead_letters(0).id());
  EXPECT_EQ(second->next_page_token(), "");
  request.Clear();
  request.set_queue("winnow.newsfeed.ItemAccepted.v1");
  EXPECT_EQ(Page(request)->dead_letters_size(), 0);
  request.Clear();
  request.set_event(kCollected);
  EXPECT_EQ(Page(request)->dead_letters_size(), 2);
}

TEST_F(AmqpDeadLettersTest, AReplayOfOneDeliversThatOneAgain) {
  MakeDead();
  recorder_.Answer("a0", OkStatus());
  recorder_.Answer("a1", OkStatus());
  std::string id;
  const auto page = Page();
  for (const auto& letter : page->dead_letters()) {
    if (letter.attempts() == 1) id = letter.id();
  }
  v1::ReplayDeadLettersRequest request;
  request.mutable_selection()->add_ids(id);
  request.mutable_selection()->add_ids("nonsense");
  const auto replayed = handlers_->ReplayDeadLetters(Call(), request);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->dead_letter_count(), 1);
  EXPECT_THAT(replayed->missing_ids(), ElementsAre("nonsense"));
  EXPECT_TRUE(Eventually([&] { return recorder_.done() == 4; }));
  EXPECT_EQ(recorder_.deliveries("a0"), 2);
  EXPECT_EQ(recorder_.deliveries("a1"), 3);
  EXPECT_EQ(Dead(), 1U);
}

TEST_F(AmqpDeadLettersTest, AReplayOfAllIsDoneOrDeadAgainAndAPurgeThrowsAway) {
  MakeDead();
  recorder_.Answer("a0", OkStatus());
  v1::ReplayDeadLettersRequest replay;
  replay.mutable_selection()->set_all(true);
  replay.set_dry_run(true);
  // What a call looked at comes back to the queue a moment after its answer.
  EXPECT_TRUE(Eventually(
      [&] { return handlers_->ReplayDeadLetters(Call(), replay)->dead_letter_count() == 2; }));
  replay.set_dry_run(false);
  int64_t count = 0;
  EXPECT_TRUE(Eventually([&] {
    const auto replayed = handlers_->ReplayDeadLetters(Call(), replay);
    EXPECT_TRUE(replayed.ok() && !replayed->limit_reached()) << replayed.status();
    return (count += replayed->dead_letter_count()) >= 2;
  }));
  EXPECT_EQ(count, 2);
  EXPECT_TRUE(Eventually([&] { return recorder_.done() == 4; }));
  auto page = Page();
  EXPECT_TRUE(Eventually([&] {
    page = Page();
    return recorder_.deliveries("a1") == 6 && page.ok() && page->dead_letters_size() == 1;
  }));
  ASSERT_TRUE(page.ok() && page->dead_letters_size() == 1);
  EXPECT_THAT(page->dead_letters(0).reason(), HasSubstr("again and again"));

  v1::PurgeDeadLettersRequest request;
  request.mutable_selection()->set_queue(kCollectedQueue);
  request.set_dry_run(true);
  const auto purges_one = [&] {
    return handlers_->PurgeDeadLetters(Call(), request)->dead_letter_count() == 1;
  };
  EXPECT_TRUE(Eventually(purges_one));
  EXPECT_TRUE(Eventually([&] { return Dead() == 1; })) << "it was only tried";
  request.set_dry_run(false);
  EXPECT_TRUE(Eventually(purges_one));
  EXPECT_EQ(Dead(), 0U);
}

TEST_F(AmqpDeadLettersTest, AFullQueueTakesNoReplayAndLosesNone) {
  MakeDead();
  transport_->Stop(Soon());
  broker_.Control({"set_policy", "-p", address().vhost, "--apply-to", "queues", "short",
                   "^winnow\\.dedup\\.ItemCollected\\.v1$", R"({"max-length":1})"});
  auto connection = AmqpConnection::Open(address());
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE((*connection)->SelectConfirms().ok());
  ASSERT_TRUE(Eventually([&] {  // a quorum queue reports that it is full a little late
    const Envelope filler = NewEnvelope(SystemClock().Now(), "default", "");
    EXPECT_TRUE(
        (*connection)->Publish("", kCollectedQueue, filler.id(), filler.SerializeAsString()).ok());
    const auto heard = (*connection)->Hear(std::chrono::seconds(5));
    const auto* confirmed = heard.ok() ? std::get_if<AmqpConnection::Confirmed>(&*heard) : nullptr;
    return confirmed != nullptr && !confirmed->ok;
  }));
  v1::ReplayDeadLettersRequest request;
  request.mutable_selection()->set_all(true);
  const Status full = handlers_->ReplayDeadLetters(Call(), request).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(Message(full), HasSubstr(kCollectedQueue));
  EXPECT_TRUE(Eventually([&] { return Dead() == 2; }));
}

TEST_F(AmqpDeadLettersTest, GarbageIsListedAndPurgedLikeAnyOther) {
  Start();
  auto connection = AmqpConnection::Open(address());
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE((*connection)->Publish(kEventExchange, kCollected, "", "\xff\xff secret").ok());
  ASSERT_TRUE(Eventually([&] { return Dead() == 1; }));
  const v1::DeadLetter letter = Page()->dead_letters(0);
  EXPECT_EQ(letter.event_id(), "");
  EXPECT_THAT(letter.reason(), HasSubstr("this version can read"));
  EXPECT_EQ(letter.DebugString().find("secret"), std::string::npos);
  v1::PurgeDeadLettersRequest request;
  request.mutable_selection()->add_ids(letter.id());
  EXPECT_EQ(handlers_->PurgeDeadLetters(Call(), request)->dead_letter_count(), 1);
  EXPECT_EQ(Dead(), 0U);
}

TEST_F(AmqpDeadLettersTest, WhatTheBrokerGivesUpByItselfIsTold) {
  Start();
  transport_->Stop(Soon());
  broker_.Control({"set_policy", "-p", address().vhost, "--apply-to", "queues", "old",
                   "^winnow\\.dedup\\.ItemCollected\\.v1$", R"({"message-ttl":1})"});
  auto producer = NewTransport(address(), nullptr);
  Append("a", 1);
  ASSERT_TRUE(producer->Start().ok());
  // What one listing looked at comes back to the queue a moment after it: one page holds all.
  auto page = Page();
  ASSERT_TRUE(Eventually([&] {
    page = Page();
    return page.ok() && page->dead_letters_size() == 1;
  }));
  EXPECT_EQ(page->dead_letters(0).reason(), "expired");
  EXPECT_GT(page->dead_letters(0).dead_time().seconds(), 1'700'000'000);
}

TEST_F(AmqpDeadLettersTest, OfATransportEndWithIt) {
  Start();
  const auto list = [&] { return transport_->dead_letters().List(Soon(), {}, std::nullopt, 1); };
  EXPECT_TRUE(list().ok()) << list().status();
  transport_->Stop(Soon());
  EXPECT_EQ(list().status().code(), StatusCode::kUnavailable) << list().status();
}

TEST(AmqpDeadLetters, ABrokerThatIsAwayIsTold) {
  AmqpDeadLetters away(ParseAmqpUrl("amqp://127.0.0.1:1").value());
  Metrics metrics;
  DeadLetterHandlers handlers(away, metrics);
  const auto call = rpc::BackgroundCall(std::chrono::seconds(60));
  const Status status = handlers.ListDeadLetters(call, {}).status();
  EXPECT_EQ(ReasonOf(status), Reason::kBrokerUnavailable) << status;
}

}  // namespace
}  // namespace winnow::events
