#include <condition_variable>

#include "services/dedup/decide/item_consumer.h"
#include "services/platform/events/amqp/amqp_dead_letters.h"
#include "tests/integration/platform/events/amqp_fixture.h"
#include "tests/support/collector/collector.h"
#include "tests/support/dedup/dedup.h"
#include "tests/support/sync/eventually.h"

// Several instances of dedup on one PostgreSQL and one real RabbitMQ.
namespace winnow::dedup {
namespace {

using events::Envelope;
using test::DedupInstance;
using test::Eventually;

constexpr char kQueue[] = "winnow.dedup.ItemCollected.v1";

// What CollectorService would answer.
class Items {
 public:
  void Put(const std::string& id, const std::string& channel, const std::string& title) {
    const std::lock_guard lock(mutex_);
    items_[id] = test::NewDocument(id, channel, title);
  }
  std::vector<StatusOr<Document>> Get(const std::vector<std::string>& ids) const {
    const std::lock_guard lock(mutex_);
    std::vector<StatusOr<Document>> found;
    for (const std::string& id : ids) {
      const auto item = items_.find(id);
      found.push_back(item == items_.end() ? StatusOr<Document>(NotFound("item", id))
                                           : StatusOr<Document>(item->second));
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Document> items_;
};

// One process: a decider, its consumer of the queue, and its connection to the broker.
class Process {
 public:
  Process(const std::string& url, const events::AmqpAddress& broker, const Items& items,
          bool is_stuck)
      : is_stuck_(is_stuck),
        decider_(url),
        consumer_(decider_.worker(), decider_.parts()),
        transport_(decider_.pool(), metrics_, OptionsFor(broker)) {
    consumer_.SetFetch([&items](const std::vector<std::string>& ids, const std::string&) {
      return StatusOr<std::vector<StatusOr<Document>>>(items.Get(ids));
    });
    transport_.AddProducer("collector");
    transport_.AddConsumer({.service = "dedup",
                            .event = "winnow.events.v1.ItemCollected",
                            .deliver = [this](auto envelopes) { return Deliver(envelopes); }});
    EXPECT_TRUE(transport_.Start().ok());
  }
  // As when it is killed: what it holds is acknowledged by nobody.
  ~Process() {
    Die();
    consumer_.Stop();
  }

  int64_t taken() const { return taken_; }
  int64_t decided() const { return decided_; }

 private:
  static events::AmqpOptions OptionsFor(const events::AmqpAddress& broker) {
    events::AmqpOptions options{.address = broker, .queue = {}, .relay = {}};
    options.queue.max_deliveries = 3;
    options.queue.first_backoff = std::chrono::milliseconds(5);
    options.queue.max_backoff = std::chrono::milliseconds(50);
    return options;
  }
  std::vector<Status> Deliver(std::span<const Envelope> envelopes) {
    taken_ += static_cast<int64_t>(envelopes.size());
    std::unique_lock lock(mutex_);
    died_.wait(lock, [this] { return !is_stuck_ || is_dead_; });
    const Status away = Unavailable(Reason::kPeerUnavailable, "this process", {});
    if (is_dead_) return {envelopes.size(), away};
    lock.unlock();
    auto statuses = consumer_.Deliver(envelopes);
    for (const Status& status : statuses) decided_ += status.ok() ? 1 : 0;
    return statuses;
  }
  void Die() {
    {
      const std::lock_guard lock(mutex_);
      is_dead_ = true;
    }
    died_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable died_;
  bool is_dead_ = false;
  const bool is_stuck_;
  std::atomic<int64_t> taken_{0};
  std::atomic<int64_t> decided_{0};
  Metrics metrics_;
  DedupInstance decider_;
  ItemConsumer consumer_;
  events::AmqpTransport transport_;  // ends first
};

class DedupOnRabbitMq : public ::testing::Test {
 protected:
  DedupOnRabbitMq()
      : pool_({.name = "test", .url = url_, .password = "", .connections = 4}, metrics_),
        broker_(events::ParseAmqpUrl(test::RabbitMq::Instance().NewVhostUrl()).value()) {}

  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

  std::unique_ptr<Process> NewProcess(bool is_stuck = false) {
    return std::make_unique<Process>(url_, broker_, items_, is_stuck);
  }
  // `count` stories, each reported by two channels.
  void TellPairs(int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      const int story = stories_++;
      for (const char* const channel : {"one", "two"}) {
        ids.push_back(std::string(channel) + std::to_string(story));
        items_.Put(ids.back(), channel, test::StoryTitle(story));
      }
    }
    Publish(ids);
  }
  void Publish(const std::vector<std::string>& ids) {
    std::vector<Envelope> envelopes;
    for (const std::string& id : ids) {
      envelopes.push_back(events::NewEnvelope(SystemClock().Now(), "default", ""));
      envelopes.back().mutable_item_collected()->set_item_id(id);
    }
    const Status appended = pool_.Transaction(Soon(), [&](pg::Session& session) {
      events::Append(session, "collector", envelopes);
      return OkStatus();
    });
    ASSERT_TRUE(appended.ok()) << appended;
  }
  int64_t CountDecisions(const std::string& which = "true") {
    return test::QueryNumber(pool_, "SELECT count(*) FROM dedup.decisions WHERE " + which);
  }
  int64_t Waiting(const std::string& queue) {
    auto connection = events::AmqpConnection::Open(broker_);
    if (!connection.ok()) return -1;
    return (*connection)->CountMessages(queue).value_or(-1);
  }
  void ExpectOneOfEachPair() {
    EXPECT_EQ(CountDecisions(), 2 * stories_);
    EXPECT_EQ(CountDecisions("verdict = 1"), stories_);
    EXPECT_EQ(test::DifferencesFromReplay(pool_, "default"), std::vector<std::string>());
  }

  Items items_;
  int stories_ = 0;
  const std::string url_ = test::NewDedupDatabase();
  Metrics metrics_;
  pg::Pool pool_;
  const events::AmqpAddress broker_;
};

TEST_F(DedupOnRabbitMq, InstancesShareTheQueueAndOneOfEachPairPasses) {
  const auto first = NewProcess();
  const auto second = NewProcess();
  const auto third = NewProcess();
  const auto deadline = Soon();
  while (first->decided() == 0 || second->decided() == 0 || third->decided() == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "not all take part";
    TellPairs(20);
    ASSERT_TRUE(Eventually([&] { return CountDecisions() == 2 * stories_; })) << CountDecisions();
  }
  ExpectOneOfEachPair();
  EXPECT_TRUE(Eventually([&] { return Waiting(kQueue) == 0; }));
}

TEST_F(DedupOnRabbitMq, WhatAnInstanceHeldWhenItDiedIsDecidedByTheOthers) {
  auto stuck = NewProcess(true);
  TellPairs(100);
  ASSERT_TRUE(Eventually([&] { return stuck->taken() > 0; }));
  const auto second = NewProcess();
  const auto third = NewProcess();
  stuck.reset();
  EXPECT_TRUE(Eventually([&] { return CountDecisions() == 2 * stories_; })) << CountDecisions();
  ExpectOneOfEachPair();
  EXPECT_GE(second->decided() + third->decided(), 200);
}

TEST_F(DedupOnRabbitMq, WhatCannotBeDecidedIsADeadLetterThatIsDecidedOnceItIsReplayed) {
  const auto only = NewProcess();
  Publish({"gone", ""});
  TellPairs(5);
  EXPECT_TRUE(Eventually([&] { return Waiting(events::DeadQueueName(kQueue)) == 2; }));
  EXPECT_TRUE(Eventually([&] { return CountDecisions() == 10; })) << "they hold nobody up";
  // The item is there after all; the event without an id stays what it is.
  items_.Put("gone", "three", test::StoryTitle(0));
  events::AmqpDeadLetters dead(broker_);
  const auto replayed = dead.Apply(Soon(), {.ids = {}, .queue = kQueue, .event = ""},
                                   events::DeadLetterAction::kReplay);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  EXPECT_EQ(replayed->count, 2U);
  EXPECT_TRUE(
      Eventually([&] { return CountDecisions("document_id = 'gone' AND verdict = 2") == 1; }));
  EXPECT_TRUE(Eventually([&] { return Waiting(events::DeadQueueName(kQueue)) == 1; }));
}

}  // namespace
}  // namespace winnow::dedup
