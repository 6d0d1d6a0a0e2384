#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/events/amqp/amqp_connection.h"
#include "services/platform/events/core/relay.h"
#include "services/platform/process/metrics.h"

namespace winnow::events {

// Publishes outbox rows, with confirms, on a thread and connection of its own. A row is settled
// when the broker has it; what is refused, returned or lost with the connection is published again.
class AmqpPublisher {
 public:
  AmqpPublisher(AmqpAddress address, Metrics& metrics);
  ~AmqpPublisher();  // stops

  void Start();
  // At once, whatever the broker does.
  void Stop();
  // Rows of a relay, which bounds how many there are.
  void Push(Relay& relay, std::vector<OutboxRow> rows);
  // Whether the broker has all that was pushed.
  bool Idle() const;
  // Why nothing can be published now.
  Status health() const;

 private:
  struct Row {
    Relay* relay = nullptr;
    OutboxRow row;
    std::string message_id;
    bool returned = false;  // no queue took it
  };
  void Run();
  Status Connect();
  Status PublishReady();
  Status HearConfirms();
  Status MeasureDeadLetters();
  void OnConfirmed(const AmqpConnection::Confirmed& confirmed);
  void Settle(std::map<uint64_t, Row>::iterator first, std::map<uint64_t, Row>::iterator last,
              bool ok);
  void TakeBack();
  bool Pause(std::chrono::milliseconds longest);
  void SetHealth(Status status);

  const AmqpAddress address_;
  Counter& published_;
  Counter& refused_;
  Counter& reconnects_;
  Gauge& blocked_gauge_;
  std::vector<std::pair<std::string, Gauge*>> dead_letters_;  // by queue

  std::stop_source stop_;

  // Of the thread.
  std::unique_ptr<AmqpConnection> connection_;
  std::map<uint64_t, Row> unconfirmed_;  // by tag
  uint64_t next_tag_ = 1;
  bool blocked_ = false;
  bool refused_lately_ = false;
  Deadline confirm_by_{};
  Deadline next_measure_{};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<Row> ready_;
  size_t in_flight_ = 0;  // ready or unconfirmed
  Status health_;
  std::thread thread_;
};

}  // namespace winnow::events
