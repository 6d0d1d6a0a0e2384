#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/events/amqp/amqp_transport.h"
#include "services/platform/events/core/outbox.h"
#include "services/platform/events/core/topology.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"
#include "tests/support/broker/rabbitmq.h"
#include "tests/support/postgres/postgres.h"

namespace winnow::events {

inline constexpr char kSchema[] = "amqp_test";
inline constexpr char kCollected[] = "winnow.events.v1.ItemCollected";
inline constexpr char kCollectedQueue[] = "winnow.dedup.ItemCollected.v1";

// A consumer that remembers what it was given and answers what the test says.
class Recorder {
 public:
  std::vector<Status> Deliver(std::span<const Envelope> envelopes) {
    const std::lock_guard lock(mutex_);
    std::vector<Status> statuses;
    for (const Envelope& envelope : envelopes) {
      const std::string& id = envelope.item_collected().item_id();
      const auto planned = plan_.find(id);
      const Status status = planned == plan_.end() ? OkStatus() : planned->second;
      ++deliveries_[id];
      if (status.ok()) done_.insert(id);
      statuses.push_back(status);
    }
    return statuses;
  }
  void Answer(const std::string& id, Status status) {
    const std::lock_guard lock(mutex_);
    plan_[id] = std::move(status);
  }
  size_t done() const {
    const std::lock_guard lock(mutex_);
    return done_.size();
  }
  int deliveries(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = deliveries_.find(id);
    return found == deliveries_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Status> plan_;
  std::map<std::string, int> deliveries_;
  std::set<std::string> done_;
};

// A database with an outbox, a virtual host, and a transport between them.
class AmqpTest : public ::testing::Test {
 protected:
  using Deliver = decltype(Consumer::deliver);

  AmqpTest()
      : database_url_(NewDatabase()),
        pool_({.name = "test", .url = database_url_, .password = "", .connections = 4}, metrics_),
        broker_(test::RabbitMq::Instance()),
        url_(broker_.NewVhostUrl()) {}

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("amqp", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool({.name = "prepare", .url = url, .password = "", .connections = 1}, metrics);
      const Status made = pool.Transaction(Soon(), [](pg::Session& session) {
        session.ExecuteText("CREATE SCHEMA " + std::string(kSchema));
        session.ExecuteText(OutboxDdl(kSchema));
        return OkStatus();
      });
      ASSERT_TRUE(made.ok()) << made;
    });
  }

  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

  AmqpAddress address() const { return ParseAmqpUrl(url_).value(); }

  std::unique_ptr<AmqpTransport> NewTransport(const AmqpAddress& address, Recorder* recorder,
                                              int max_deliveries = 20) {
    if (recorder == nullptr) return NewTransport(address, Deliver(), max_deliveries);
    return NewTransport(
        address,
        [recorder](std::span<const Envelope> envelopes) { return recorder->Deliver(envelopes); },
        max_deliveries);
  }
  // Without a consumer where `deliver` is empty.
  std::unique_ptr<AmqpTransport> NewTransport(const AmqpAddress& address, Deliver deliver,
                                              int max_deliveries) {
    AmqpOptions options{.address = address, .queue = {}, .relay = {}};
    options.queue.max_deliveries = max_deliveries;
    options.queue.first_backoff = std::chrono::milliseconds(5);
    options.queue.max_backoff = std::chrono::milliseconds(50);
    auto transport = std::make_unique<AmqpTransport>(pool_, metrics_, options);
    transport->AddProducer(kSchema);
    if (deliver) {
      transport->AddConsumer(
          {.service = "dedup", .event = kCollected, .deliver = std::move(deliver)});
    }
    return transport;
  }

  // Commits events for the items "<prefix>0", "<prefix>1", ...
  void Append(const std::string& prefix, int count) {
    std::vector<Envelope> envelopes;
    for (int i = 0; i < count; ++i) {
      envelopes.push_back(NewEnvelope(SystemClock().Now(), "default", ""));
      envelopes.back().mutable_item_collected()->set_item_id(prefix + std::to_string(i));
    }
    Append(envelopes);
  }
  void Append(const std::vector<Envelope>& envelopes) {
    const Status appended = pool_.Transaction(Soon(), [&](pg::Session& session) {
      events::Append(session, kSchema, envelopes);
      return OkStatus();
    });
    ASSERT_TRUE(appended.ok()) << appended;
  }

  int64_t OutboxRows() {
    const StatusOr<int64_t> rows =
        pool_.Statements(Soon(), [](pg::Session& session) -> StatusOr<int64_t> {
          return session.ExecuteText("SELECT count(*) FROM amqp_test.outbox")[0][0].as<int64_t>();
        });
    return rows.ok() ? *rows : -1;
  }

  int64_t Waiting(const std::string& queue) {
    auto connection = AmqpConnection::Open(address());
    if (!connection.ok()) return -1;
    const StatusOr<int64_t> count = (*connection)->CountMessages(queue);
    return count.ok() ? *count : -1;
  }

  const std::string database_url_;
  Metrics metrics_;
  pg::Pool pool_;
  test::RabbitMq& broker_;
  const std::string url_;
};

}  // namespace winnow::events
