#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "services/platform/events/core/in_process_transport.h"
#include "services/platform/events/core/outbox.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

namespace winnow::events {

inline constexpr char kCollected[] = "winnow.events.v1.ItemCollected";
inline constexpr char kAccepted[] = "winnow.events.v1.ItemAccepted";

inline Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

// A database with the outboxes of two schemas, and what puts events into them.
class EventsTest : public ::testing::Test {
 protected:
  EventsTest() : pool_url_(NewDatabase()), pool_(PoolOptions(pool_url_), metrics_) {}

  static std::string NewDatabase() {
    return test::Postgres::Instance().NewDatabase("events", [](const std::string& url) {
      Metrics metrics;
      pg::Pool pool(PoolOptions(url), metrics);
      const Status made = pool.Transaction(Soon(), [](pg::Session& session) {
        session.ExecuteText("CREATE SCHEMA one; CREATE SCHEMA two;");
        session.ExecuteText(OutboxDdl("one") + OutboxDdl("two"));
        return OkStatus();
      });
      if (!made.ok()) throw std::runtime_error(made.ToString());
    });
  }
  static pg::PoolOptions PoolOptions(const std::string& url) {
    return {.name = "events", .url = url, .password = "", .connections = 4};
  }
  static InProcessOptions Quick() {
    InProcessOptions options;
    options.queue.first_backoff = std::chrono::milliseconds(2);
    options.queue.max_backoff = std::chrono::milliseconds(20);
    options.poll_interval = std::chrono::milliseconds(10);
    options.lease = std::chrono::milliseconds(1'000);
    return options;
  }
  std::unique_ptr<InProcessTransport> MakeTransport(InProcessOptions options = Quick()) {
    return std::make_unique<InProcessTransport>(pool_, metrics_, options);
  }

  static Envelope Collected(const std::string& item) {
    Envelope envelope = NewEnvelope(SystemClock().Now(), "default", "");
    envelope.mutable_item_collected()->set_item_id(item);
    return envelope;
  }
  static Envelope Accepted(const std::string& item) {
    Envelope envelope = NewEnvelope(SystemClock().Now(), "default", "");
    envelope.mutable_item_accepted()->set_item_id(item);
    return envelope;
  }
  void Write(const std::vector<Envelope>& envelopes, const std::string& schema = "one") {
    const Status status = pool_.Transaction(Soon(), [&](pg::Session& session) {
      Append(session, schema, envelopes);
      return OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  void Run(const std::string& sql) {
    const Status status = pool_.Transaction(Soon(), [&](pg::Session& session) {
      session.ExecuteText(sql);
      return OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string Query(const std::string& sql) {
    const auto text = pool_.Statements(Soon(), [&](pg::Session& session) -> StatusOr<std::string> {
      const pqxx::result result = session.ExecuteText(sql);
      return result.empty() ? "" : result[0][0].as<std::string>();
    });
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "";
  }
  int Count(const std::string& from) { return std::stoi(Query("SELECT count(*) FROM " + from)); }
  bool AwaitEmpty(const std::string& schema = "one") {
    return test::Eventually([&] { return Count(schema + ".outbox") == 0; });
  }

  const std::string pool_url_;
  Metrics metrics_;
  pg::Pool pool_;
};

// A consumer that answers by item: the results of its deliveries, the last one repeated, and
// OK for items it knows nothing of.
class Recorder {
 public:
  void Answer(const std::string& item, std::vector<Status> statuses) {
    const std::lock_guard lock(mutex_);
    answers_[item] = std::move(statuses);
  }
  Consumer AsConsumer(const std::string& service, const std::string& event, int max_batch = 500) {
    return {service, event, [this](std::span<const Envelope> batch) { return Take(batch); },
            max_batch};
  }
  int DeliveriesOf(const std::string& item) const {
    const std::lock_guard lock(mutex_);
    const auto times = times_.find(item);
    return times == times_.end() ? 0 : static_cast<int>(times->second.size());
  }
  std::vector<Deadline> TimesOf(const std::string& item) const {
    const std::lock_guard lock(mutex_);
    return times_.at(item);
  }
  size_t items() const {
    const std::lock_guard lock(mutex_);
    return times_.size();
  }
  size_t deliveries() const {
    const std::lock_guard lock(mutex_);
    size_t sum = 0;
    for (const auto& [item, times] : times_) sum += times.size();
    return sum;
  }
  bool AwaitDelivery(const std::string& item) const {
    return test::Eventually([&] { return DeliveriesOf(item) > 0; });
  }

 private:
  std::vector<Status> Take(std::span<const Envelope> batch) {
    const std::lock_guard lock(mutex_);
    std::vector<Status> out;
    for (const Envelope& envelope : batch) {
      const std::string& item = envelope.has_item_collected() ? envelope.item_collected().item_id()
                                                              : envelope.item_accepted().item_id();
      auto& times = times_[item];
      times.push_back(std::chrono::steady_clock::now());
      const auto answers = answers_.find(item);
      if (answers == answers_.end()) {
        out.push_back(OkStatus());
      } else {
        out.push_back(answers->second[std::min(times.size(), answers->second.size()) - 1]);
      }
    }
    return out;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Status>> answers_;
  std::map<std::string, std::vector<Deadline>> times_;
};

inline Status Away() {
  return Unavailable(Reason::kStoreUnavailable, "away", std::chrono::milliseconds(1));
}
inline Status Collided() { return Aborted(Reason::kWriteConflict, "collided"); }

}  // namespace winnow::events
