// Dead letters of deliveries in process, through the calls of DeadLetterService.
#include <gmock/gmock.h>

#include "services/platform/events/dead_letters/dead_letter_handlers.h"
#include "tests/integration/platform/events/events_fixture.h"

namespace winnow::events {
namespace {

using test::Eventually;
using testing::ElementsAre;
using testing::HasSubstr;

class OutboxDeadLettersTest : public EventsTest {
 protected:
  static rpc::CallContext Call() { return rpc::BackgroundCall(std::chrono::seconds(60)); }

  void Start(bool with_consumers = true) {
    InProcessOptions options = Quick();
    options.queue.max_deliveries = 2;
    transport_ = MakeTransport(options);
    transport_->AddProducer("one");
    transport_->AddProducer("two");
    if (with_consumers) {
      transport_->AddConsumer(dedup_.AsConsumer("dedup", kCollected));
      transport_->AddConsumer(feed_.AsConsumer("newsfeed", kAccepted));
      transport_->AddConsumer(other_.AsConsumer("other", kAccepted));
    }
    handlers_.emplace(transport_->dead_letters(), metrics_);
    ASSERT_TRUE(transport_->Start().ok());
  }

  std::vector<v1::DeadLetter> List(v1::ListDeadLettersRequest request = {}) {
    std::vector<v1::DeadLetter> letters;
    do {
      const auto page = handlers_->ListDeadLetters(Call(), request);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      letters.insert(letters.end(), page->dead_letters().begin(), page->dead_letters().end());
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return letters;
  }
  bool AwaitDead(size_t count) {
    return Eventually([&] { return List().size() == count; });
  }
  // Three that dedup refuses, and one that both takers of ItemAccepted refuse, in another schema.
  void MakeDead() {
    for (const char* item : {"a", "b", "c"}) {
      dedup_.Answer(item, {InvalidField("item_id", "is bad"), OkStatus()});
    }
    feed_.Answer("d", {InvalidField("item_id", "is worse"), OkStatus()});
    const Status defect = Internal("select secret from table");
    other_.Answer("d", {defect, defect, OkStatus()});
    Start();
    Write({Collected("a"), Collected("fine"), Collected("b"), Collected("c")});
    Write({Accepted("d")}, "two");
    ASSERT_TRUE(AwaitDead(5));
  }

  Recorder dedup_, feed_, other_;
  std::unique_ptr<InProcessTransport> transport_;
  std::optional<DeadLetterHandlers> handlers_;
};

TEST_F(OutboxDeadLettersTest, AreListedWithTheReasonAndWithoutWhatTheyCarry) {
  MakeDead();
  const std::vector<v1::DeadLetter> letters = List();
  const v1::DeadLetter& first = letters[0];
  EXPECT_EQ(first.queue(), "winnow.dedup.ItemCollected.v1");
  EXPECT_EQ(first.event(), kCollected);
  EXPECT_EQ(first.namespace_(), "default");
  EXPECT_THAT(first.reason(), HasSubstr("item_id"));
  EXPECT_EQ(first.attempts(), 1);
  EXPECT_EQ(first.event_id().size(), 36U);
  EXPECT_GE(first.dead_time().seconds(), first.occur_time().seconds());
  EXPECT_GT(first.size_bytes(), 0);
  EXPECT_EQ(letters[3].queue(), "winnow.newsfeed.ItemAccepted.v1");
  EXPECT_EQ(letters[4].queue(), "winnow.other.ItemAccepted.v1");
  EXPECT_EQ(letters[4].reason().find("secret"), std::string::npos) << "driver text stays inside";
}

TEST_F(OutboxDeadLettersTest, AreListedInPagesAndByQueueAndEvent) {
  MakeDead();
  v1::ListDeadLettersRequest request;
  request.set_page_size(1);
  const std::vector<v1::DeadLetter> all = List(request);
  ASSERT_EQ(all.size(), 5U);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_NE(all[i].id(), all[i - 1].id());
  request.set_queue("winnow.other.ItemAccepted.v1");
  EXPECT_EQ(List(request).size(), 1U);
  request.clear_queue();
  request.set_event(kCollected);
  EXPECT_EQ(List(request).size(), 3U);
  request.set_queue("winnow.other.ItemAccepted.v1");
  EXPECT_EQ(List(request).size(), 0U);
}

TEST_F(OutboxDeadLettersTest, AFilterThatNoNameCanHaveIsRefused) {
  v1::ListDeadLettersRequest request;
  request.set_event(std::string("a\0b", 3));
  EXPECT_EQ(handlers_->ListDeadLetters(Call(), request).status().code(),
            StatusCode::kInvalidArgument);
  v1::PurgeDeadLettersRequest purge;
  purge.mutable_selection()->add_ids(std::string("a\0b", 3));
  EXPECT_EQ(handlers_->PurgeDeadLetters(Call(), purge).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(OutboxDeadLettersTest, AReplayOfOneDeliversThatOneAgain) {
  MakeDead();
  v1::ReplayDeadLettersRequest request;
  const std::string id = List()[1].id();
  request.mutable_selection()->add_ids(id);
  request.set_dry_run(true);
  EXPECT_EQ(handlers_->ReplayDeadLetters(Call(), request)->dead_letter_count(), 1);
  EXPECT_EQ(List().size(), 5U) << "a dry run changes nothing";
  request.set_dry_run(false);
  EXPECT_EQ(handlers_->ReplayDeadLetters(Call(), request)->dead_letter_count(), 1);
  EXPECT_TRUE(Eventually([&] { return dedup_.DeliveriesOf("b") == 2; }));
  EXPECT_EQ(dedup_.DeliveriesOf("a"), 1);
  ASSERT_TRUE(AwaitEmpty());
  EXPECT_EQ(List().size(), 4U);
  const auto again = handlers_->ReplayDeadLetters(Call(), request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->dead_letter_count(), 0);
  EXPECT_THAT(again->missing_ids(), ElementsAre(id));
}

TEST_F(OutboxDeadLettersTest, AReplayOfAllIsDoneByTheConsumersAndAnEventGoesBackOnce) {
  MakeDead();
  v1::ReplayDeadLettersRequest request;
  request.mutable_selection()->set_all(true);
  EXPECT_EQ(handlers_->ReplayDeadLetters(Call(), request)->dead_letter_count(), 5);
  EXPECT_TRUE(Eventually([&] {
    return dedup_.DeliveriesOf("a") == 2 && dedup_.DeliveriesOf("c") == 2 &&
           feed_.DeliveriesOf("d") == 2 && other_.DeliveriesOf("d") == 3;
  }));
  ASSERT_TRUE(AwaitEmpty());
  ASSERT_TRUE(AwaitEmpty("two"));
  EXPECT_EQ(List().size(), 0U);
  EXPECT_EQ(feed_.DeliveriesOf("d"), 2) << "two letters of one event are one event";
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_dead_letters_replayed_total 5"));
}

TEST_F(OutboxDeadLettersTest, WhatStillCannotBeDoneIsADeadLetterAgain) {
  dedup_.Answer("a", {InvalidField("item_id", "is bad")});
  Start();
  Write({Collected("a")});
  ASSERT_TRUE(AwaitDead(1));
  const std::string id = List()[0].id();
  v1::ReplayDeadLettersRequest request;
  request.mutable_selection()->set_event(kCollected);
  EXPECT_EQ(handlers_->ReplayDeadLetters(Call(), request)->dead_letter_count(), 1);
  ASSERT_TRUE(Eventually([&] { return dedup_.DeliveriesOf("a") == 2; }));
  ASSERT_TRUE(AwaitDead(1));
  EXPECT_NE(List()[0].id(), id);
}

TEST_F(OutboxDeadLettersTest, APurgeThrowsAwayWhatItIsTold) {
  MakeDead();
  v1::PurgeDeadLettersRequest request;
  request.mutable_selection()->set_queue("winnow.dedup.ItemCollected.v1");
  request.set_dry_run(true);
  EXPECT_EQ(handlers_->PurgeDeadLetters(Call(), request)->dead_letter_count(), 3);
  EXPECT_EQ(List().size(), 5U);
  request.set_dry_run(false);
  EXPECT_EQ(handlers_->PurgeDeadLetters(Call(), request)->dead_letter_count(), 3);
  EXPECT_EQ(List().size(), 2U);
  EXPECT_EQ(dedup_.DeliveriesOf("a"), 1);
  EXPECT_THAT(metrics_.Render(), HasSubstr("winnow_dead_letters_purged_total 3"));
}

TEST_F(OutboxDeadLettersTest, AnEventOfANewerVersionWaitsForTheOneThatKnowsIt) {
  Start();
  Run("INSERT INTO one.outbox (event, envelope) VALUES ('winnow.events.v1.OfTomorrow', 'x')");
  ASSERT_TRUE(AwaitDead(1));
  const v1::DeadLetter letter = List()[0];
  EXPECT_EQ(letter.queue(), "one.outbox");
  EXPECT_EQ(letter.event(), "winnow.events.v1.OfTomorrow");
  EXPECT_EQ(letter.event_id(), "");
  EXPECT_FALSE(letter.has_occur_time());
  v1::ListDeadLettersRequest request;
  request.set_queue("one.outbox");
  EXPECT_EQ(List(request).size(), 1U);
}

TEST_F(OutboxDeadLettersTest, HowManyWaitIsAMetric) {
  Write({Collected("a")});
  Run("INSERT INTO one.dead_letters SELECT id, 'dedup', event, envelope, 'x', 1, create_time"
      " FROM one.outbox");
  Start();
  EXPECT_TRUE(Eventually([&] {
    return metrics_.Render().find("winnow_dead_letters_events{place=\"one.outbox\"} 1") !=
           std::string::npos;
  })) << metrics_.Render();
}

TEST_F(OutboxDeadLettersTest, BadRequestsAreRefusedWithAllThatIsWrong) {
  Start();
  v1::ReplayDeadLettersRequest nothing;
  const Status missing = handlers_->ReplayDeadLetters(Call(), nothing).status();
  EXPECT_EQ(ViolationsOf(missing)[0].field, "selection");
  v1::PurgeDeadLettersRequest bad;
  bad.mutable_selection()->set_all(true);
  bad.mutable_selection()->add_ids("");
  bad.mutable_selection()->set_queue(std::string(257, 'q'));
  EXPECT_EQ(ViolationsOf(handlers_->PurgeDeadLetters(Call(), bad).status()).size(), 3U);
  v1::PurgeDeadLettersRequest many;
  for (int i = 0; i < 1'001; ++i) many.mutable_selection()->add_ids("x");
  EXPECT_EQ(ViolationsOf(handlers_->PurgeDeadLetters(Call(), many).status()).size(), 1U);
  v1::ListDeadLettersRequest list;
  list.set_page_size(-1);
  list.set_event(std::string(257, 'e'));
  EXPECT_EQ(ViolationsOf(handlers_->ListDeadLetters(Call(), list).status()).size(), 2U);
  list.Clear();
  list.set_page_token("nonsense");
  EXPECT_EQ(ReasonOf(handlers_->ListDeadLetters(Call(), list).status()), Reason::kInvalidPageToken);
  v1::ReplayDeadLettersRequest odd;
  for (const char* id : {"one/x/dedup", "one", "/", "nowhere/1/dedup"}) {
    odd.mutable_selection()->add_ids(id);
  }
  const auto none = handlers_->ReplayDeadLetters(Call(), odd);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(none->missing_ids_size(), 4);
}

}  // namespace
}  // namespace winnow::events
