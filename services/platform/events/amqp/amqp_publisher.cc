#include "services/platform/events/amqp/amqp_publisher.h"

#include <algorithm>

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/events/core/topology.h"
#include "services/platform/process/log.h"

namespace winnow::events {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Publications without a confirm, at most: enough to hide the round trip and the broker's fsync.
constexpr size_t kMaxUnconfirmed = 1'000;
constexpr std::chrono::seconds kConfirmTime{30};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kMaxPause{5'000};
// What was refused comes again after this: a full queue does not empty at once.
constexpr milliseconds kRefusedPause{200};
constexpr milliseconds kHearTime{20};
constexpr std::chrono::seconds kMeasureInterval{15};
constexpr milliseconds kIdleTime{1'000};  // between looks at the connection: heartbeats

Status Connecting() {
  return Unavailable(Reason::kBrokerUnavailable, "not connected to the broker yet",
                     std::chrono::seconds(1));
}

}  // namespace

AmqpPublisher::AmqpPublisher(AmqpAddress address, Metrics& metrics)
    : address_(std::move(address)),
      published_(metrics.GetCounter("winnow_events_published_total",
                                    "Events that the broker has confirmed.")),
      refused_(metrics.GetCounter("winnow_events_refused_total",
                                  "Publications that the broker refused or no queue took.")),
      reconnects_(metrics.GetCounter("winnow_broker_connects_total",
                                     "Attempts to connect to the broker.",
                                     {{"connection", "publisher"}})),
      blocked_gauge_(
          metrics.GetGauge("winnow_broker_blocked", "1 while the broker takes no publications.")),
      health_(Connecting()) {
  for (const Queue& queue : AllQueues()) {
    dead_letters_.emplace_back(DeadQueueName(queue.name), &DeadLettersGauge(metrics, queue.name));
  }
}

AmqpPublisher::~AmqpPublisher() { Stop(); }

void AmqpPublisher::Start() {
  thread_ = std::thread([this] { Run(); });
}

void AmqpPublisher::Stop() {
  stop_.request_stop();  // which ends what waits for the broker, too
  if (thread_.joinable()) thread_.join();
}

void AmqpPublisher::Push(Relay& relay, std::vector<OutboxRow> rows) {
  {
    const std::lock_guard lock(mutex_);
    in_flight_ += rows.size();
    for (OutboxRow& row : rows) {
      Envelope envelope;
      // One that cannot be read is published all the same: its consumers dead-letter it.
      const bool readable = envelope.ParseFromString(row.envelope);
      ready_.push_back({&relay, std::move(row), readable ? envelope.id() : "", false});
    }
  }
  changed_.notify_all();
}

bool AmqpPublisher::Idle() const {
  const std::lock_guard lock(mutex_);
  return in_flight_ == 0;
}

Status AmqpPublisher::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void AmqpPublisher::SetHealth(Status status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && Message(status) != Message(health_)) {
    log::Warn("events cannot be published", {{"error", Message(status)}});
  } else if (status.ok() && !health_.ok()) {
    log::Info("events are published", {{"broker", address_.ToString()}});
  }
  health_ = std::move(status);
}

// False when stopping.
bool AmqpPublisher::Pause(milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop_.get_token(), longest, [] { return false; });
  return !stop_.stop_requested();
}

void AmqpPublisher::Run() {
  milliseconds pause = kFirstPause;
  while (Pause(milliseconds(0))) {
    Status status = Connect();
    if (status.ok()) pause = kFirstPause;
    while (status.ok()) {
      status = PublishReady();
      if (status.ok()) status = HearConfirms();
      if (status.ok()) status = MeasureDeadLetters();
    }
    TakeBack();
    if (!Pause(milliseconds(0))) return;  // the end of its connection is not a failure
    SetHealth(status);
    if (!Pause(pause)) return;
    pause = std::min(2 * pause, kMaxPause);
  }
}

Status AmqpPublisher::Connect() {
  reconnects_.Increment();
  WINNOW_ASSIGN_OR_RETURN(connection_, AmqpConnection::Open(address_, stop_.get_token()));
  WINNOW_RETURN_IF_ERROR(connection_->SelectConfirms());
  next_tag_ = 1;
  blocked_ = false;
  blocked_gauge_.Set(0);
  SetHealth(OkStatus());
  return OkStatus();
}

// Publishes what is ready, as far as the window allows.
Status AmqpPublisher::PublishReady() {
  if (blocked_) return OkStatus();
  std::vector<Row> rows;
  {
    std::unique_lock lock(mutex_);
    if (unconfirmed_.empty()) {
      const auto wait = refused_lately_ ? kRefusedPause : kIdleTime;
      changed_.wait_for(lock, stop_.get_token(), wait,
                        [&] { return !refused_lately_ && !ready_.empty(); });
      refused_lately_ = false;
    }
    if (stop_.stop_requested()) return Connecting();
    while (!ready_.empty() && unconfirmed_.size() + rows.size() < kMaxUnconfirmed) {
      rows.push_back(std::move(ready_.front()));
      ready_.pop_front();
    }
  }
  // All are unconfirmed before the first is sent, so that a lost connection takes all of them back.
  const uint64_t first = next_tag_;
  for (Row& row : rows) unconfirmed_.emplace(next_tag_++, std::move(row));
  if (!rows.empty()) confirm_by_ = steady_clock::now() + kConfirmTime;
  for (uint64_t tag = first; tag < next_tag_; ++tag) {
    const Row& row = unconfirmed_.at(tag);
    WINNOW_RETURN_IF_ERROR(
        connection_->Publish(kEventExchange, row.row.event, row.message_id, row.row.envelope));
  }
  return OkStatus();
}

Status AmqpPublisher::HearConfirms() {
  auto wait = unconfirmed_.empty() ? milliseconds(0) : kHearTime;
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(const AmqpConnection::Heard heard, connection_->Hear(wait));
    wait = milliseconds(0);
    if (std::holds_alternative<AmqpConnection::Quiet>(heard)) break;
    if (const auto* confirmed = std::get_if<AmqpConnection::Confirmed>(&heard)) {
      OnConfirmed(*confirmed);
    } else if (const auto* returned = std::get_if<AmqpConnection::Returned>(&heard)) {
      for (auto& [tag, row] : unconfirmed_) {
        row.returned = row.returned || row.message_id == returned->message_id;
      }
    } else if (const auto* blocked = std::get_if<AmqpConnection::Blocked>(&heard)) {
      blocked_ = blocked->blocked;
      blocked_gauge_.Set(blocked_ ? 1 : 0);
      SetHealth(blocked_ ? Unavailable(Reason::kBrokerUnavailable,
                                       "the broker takes no events: " + blocked->reason,
                                       std::chrono::seconds(1))
                         : OkStatus());
    }
  }
  if (blocked_) {
    confirm_by_ = steady_clock::now() + kConfirmTime;  // it confirms nothing meanwhile
    if (!Pause(kHearTime)) return Connecting();
  } else if (!unconfirmed_.empty() && steady_clock::now() > confirm_by_) {
    return Unavailable(Reason::kBrokerUnavailable, "the broker confirms nothing",
                       std::chrono::seconds(1));
  }
  return OkStatus();
}

Status AmqpPublisher::MeasureDeadLetters() {
  const auto now = steady_clock::now();
  if (now < next_measure_) return OkStatus();
  next_measure_ = now + kMeasureInterval;
  for (const auto& [queue, gauge] : dead_letters_) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t count, connection_->CountMessages(queue));
    gauge->Set(static_cast<double>(count));
  }
  return OkStatus();
}

void AmqpPublisher::OnConfirmed(const AmqpConnection::Confirmed& confirmed) {
  const auto last = unconfirmed_.upper_bound(confirmed.tag);
  const auto first =
      confirmed.multiple ? unconfirmed_.begin() : unconfirmed_.lower_bound(confirmed.tag);
  Settle(first, last, confirmed.ok);
  confirm_by_ = steady_clock::now() + kConfirmTime;
}

void AmqpPublisher::Settle(std::map<uint64_t, Row>::iterator first,
                           std::map<uint64_t, Row>::iterator last, bool ok) {
  std::map<Relay*, std::vector<Settled>> settled;
  std::vector<Row> again;
  bool unroutable = false;
  for (auto it = first; it != last; ++it) {
    Row& row = it->second;
    if (ok && !row.returned) {
      settled[row.relay].push_back({row.row.id, {}});
      continue;
    }
    unroutable = unroutable || row.returned;
    row.returned = false;
    again.push_back(std::move(row));
  }
  unconfirmed_.erase(first, last);
  size_t done = 0;
  for (auto& [relay, rows] : settled) {
    done += rows.size();
    relay->Settle(std::move(rows));
  }
  published_.Increment(static_cast<double>(done));
  refused_.Increment(static_cast<double>(again.size()));
  if (unroutable) connection_->Shutdown();  // a queue is gone: the next connection declares it
  refused_lately_ = refused_lately_ || !again.empty();
  const std::lock_guard lock(mutex_);
  in_flight_ -= done;
  for (Row& row : again) ready_.push_back(std::move(row));
}

// The connection is lost: what it has not confirmed is to be published again.
void AmqpPublisher::TakeBack() {
  connection_.reset();
  const std::lock_guard lock(mutex_);
  for (auto it = unconfirmed_.rbegin(); it != unconfirmed_.rend(); ++it) {
    ready_.push_front(std::move(it->second));
  }
  unconfirmed_.clear();
}

}  // namespace winnow::events
