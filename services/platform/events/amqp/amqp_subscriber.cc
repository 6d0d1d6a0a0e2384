#include "services/platform/events/amqp/amqp_subscriber.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/events/core/topology.h"
#include "services/platform/process/log.h"
#include "services/platform/process/pause.h"

namespace winnow::events {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{100};
constexpr milliseconds kMaxPause{5'000};
// Between looks at what the consumer has done; also the longest that an answer waits.
constexpr milliseconds kHearTime{5};
constexpr milliseconds kBurialTime{2'000};  // for the last dead letters of a stop
constexpr milliseconds kMinStopTime{200};

// What a process that hangs withholds until the broker closes its connection. Two processes of
// dedup drain 10,000 events over RabbitMQ in 1.6 s with 1,000 and with 500, in 2.1 s with 250.
constexpr int kMaxPrefetch = 500;

// Room for a batch being delivered and one that arrives meanwhile, as far as the limit goes.
int Prefetch(int max_batch) { return std::min(2 * std::clamp(max_batch, 1, 30'000), kMaxPrefetch); }

Status Connecting() {
  return Unavailable(Reason::kBrokerUnavailable, "not connected to the broker yet",
                     std::chrono::seconds(1));
}

Status QueueGone() {
  return Unavailable(Reason::kBrokerUnavailable, "the broker takes no dead letters",
                     std::chrono::seconds(1));
}

}  // namespace

// Collects the answers to the messages of one connection. After that connection is lost nobody
// asks for them: the broker delivers the messages again.
class AmqpSubscriber::Inbox final : public Origin {
 public:
  void Settle(std::vector<DeliveryResult> endings) override {
    const std::lock_guard lock(mutex_);
    std::move(endings.begin(), endings.end(), std::back_inserter(endings_));
  }
  std::vector<DeliveryResult> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(endings_, {});
  }
  bool Lost() const override { return lost_; }
  void Lose() { lost_ = true; }

 private:
  std::atomic<bool> lost_ = false;
  std::mutex mutex_;
  std::vector<DeliveryResult> endings_;
};

AmqpSubscriber::AmqpSubscriber(AmqpAddress address, Consumer consumer, const QueueOptions& options,
                               Metrics& metrics)
    : address_(std::move(address)),
      queue_name_(QueueName(consumer.service, consumer.event)),
      event_(consumer.event),
      prefetch_(Prefetch(consumer.max_batch)),
      reconnects_(metrics.GetCounter("winnow_broker_connects_total",
                                     "Attempts to connect to the broker.",
                                     {{"connection", consumer.service}})),
      queue_(std::move(consumer), options, metrics),
      health_(Connecting()) {}

AmqpSubscriber::~AmqpSubscriber() { Stop(steady_clock::now()); }

void AmqpSubscriber::Start() {
  queue_.Start();
  ended_ = false;
  thread_ = std::thread([this] {
    Run();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  });
}

void AmqpSubscriber::Stop(Deadline deadline) {
  queue_.Stop();  // first: its last answers are still sent
  stop_.request_stop();
  {
    std::unique_lock lock(mutex_);
    // Without a connection there is nothing to acknowledge.
    const bool talks = connection_ != nullptr;
    changed_.wait_until(lock, std::max(deadline, steady_clock::now() + kMinStopTime),
                        [&] { return ended_ || !talks; });
  }
  cut_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Status AmqpSubscriber::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void AmqpSubscriber::SetHealth(Status status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && Message(status) != Message(health_)) {
    log::Warn("events cannot be received", {{"queue", queue_name_}, {"error", Message(status)}});
  } else if (status.ok() && !health_.ok()) {
    log::Info("events are received", {{"queue", queue_name_}});
  }
  health_ = std::move(status);
}

void AmqpSubscriber::Run() {
  milliseconds pause = kFirstPause;
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    Status status = Connect();
    if (status.ok()) pause = kFirstPause;
    while (status.ok() && !stop.stop_requested()) {
      status = Receive();
      if (status.ok()) status = Answer();
    }
    if (status.ok()) status = Answer();  // stopping: what the last delivery brought
    if (status.ok()) status = FinishBurials();
    if (status.ok()) connection_->Close();
    Disconnect();
    if (stop.stop_requested()) return;
    SetHealth(status);
    if (!Pause(stop, pause)) return;
    pause = std::min(2 * pause, kMaxPause);
  }
}

Status AmqpSubscriber::Connect() {
  reconnects_.Increment();
  WINNOW_ASSIGN_OR_RETURN(auto connection, AmqpConnection::Open(address_, cut_.get_token()));
  WINNOW_RETURN_IF_ERROR(connection->SelectConfirms());
  WINNOW_RETURN_IF_ERROR(connection->Consume(queue_name_, prefetch_));
  inbox_ = std::make_shared<Inbox>();
  held_.clear();
  burials_.clear();
  last_publication_ = 0;
  SetHealth(OkStatus());
  const std::lock_guard lock(mutex_);
  connection_ = std::move(connection);
  return OkStatus();
}

// What was in flight comes again over the next connection; delivered from here too, it would come
// twice each time.
void AmqpSubscriber::Disconnect() {
  {
    const std::lock_guard lock(mutex_);
    connection_.reset();
  }
  if (inbox_ == nullptr) return;
  inbox_->Lose();  // first: what is being delivered now does not come back to the queue either
  queue_.Forget(*inbox_);
  inbox_.reset();
}

// Takes what has arrived; waits a little when nothing has.
Status AmqpSubscriber::Receive() {
  std::vector<AmqpConnection::Message> messages;
  milliseconds wait = kHearTime;
  while (messages.size() < static_cast<size_t>(prefetch_)) {
    WINNOW_ASSIGN_OR_RETURN(AmqpConnection::Heard heard, connection_->Hear(wait));
    if (std::holds_alternative<AmqpConnection::Quiet>(heard)) break;
    if (auto* message = std::get_if<AmqpConnection::Message>(&heard)) {
      messages.push_back(std::move(*message));
    } else if (const auto* confirmed = std::get_if<AmqpConnection::Confirmed>(&heard)) {
      WINNOW_RETURN_IF_ERROR(OnConfirmed(*confirmed));
    } else if (std::holds_alternative<AmqpConnection::Returned>(heard)) {
      return QueueGone();
    }
    wait = milliseconds(0);
  }
  if (!messages.empty()) Accept(std::move(messages));
  return OkStatus();
}

void AmqpSubscriber::Accept(std::vector<AmqpConnection::Message> messages) {
  std::vector<Delivery> deliveries;
  std::vector<DeliveryResult> unreadable;
  for (AmqpConnection::Message& message : messages) {
    Delivery delivery{.envelope = {}, .origin = inbox_, .ticket = message.tag};
    const bool readable =
        delivery.envelope.ParseFromString(message.body) && EventName(delivery.envelope) == event_;
    if (readable) {
      deliveries.push_back(std::move(delivery));
    } else {
      queue_.CountDead();
      const std::string reason = "the payload is not a " + event_ + " that this version can read";
      log::Warn("event is a dead letter",
                {{"queue", queue_name_}, {"event_id", message.message_id}, {"reason", reason}});
      unreadable.push_back({message.tag, DeadLetter{queue_.consumer().service, reason, 0}});
    }
    const uint64_t tag = message.tag;
    held_.emplace(tag, std::move(message));
  }
  if (!unreadable.empty()) inbox_->Settle(std::move(unreadable));
  if (!deliveries.empty()) queue_.Push(std::move(deliveries));
}

Status AmqpSubscriber::Answer() {
  for (const DeliveryResult& ending : inbox_->Take()) {
    if (ending.dead) {
      WINNOW_RETURN_IF_ERROR(Bury(ending.ticket, *ending.dead));
    } else {
      WINNOW_RETURN_IF_ERROR(connection_->Ack(ending.ticket));
      held_.erase(ending.ticket);
    }
  }
  return OkStatus();
}

Status AmqpSubscriber::Bury(uint64_t tag, const DeadLetter& dead) {
  const AmqpConnection::Message& message = held_.at(tag);
  const DeadHeaders headers{
      .reason = KeptReason(dead.reason), .attempts = dead.deliveries, .time = SystemClock().Now()};
  burials_[++last_publication_] = tag;
  return connection_->Publish(kDeadExchange, queue_name_, message.message_id, message.body,
                              &headers);
}

// Refused, the message is left to be delivered again, and becomes a dead letter then.
Status AmqpSubscriber::OnConfirmed(const AmqpConnection::Confirmed& confirmed) {
  if (!confirmed.ok) return QueueGone();
  const auto last = burials_.upper_bound(confirmed.tag);
  const auto first = confirmed.multiple ? burials_.begin() : burials_.lower_bound(confirmed.tag);
  for (auto it = first; it != last; ++it) {
    WINNOW_RETURN_IF_ERROR(connection_->Ack(it->second));
    held_.erase(it->second);
  }
  burials_.erase(first, last);
  return OkStatus();
}

// Stopping: what is not confirmed in time is delivered again, to another.
Status AmqpSubscriber::FinishBurials() {
  const auto deadline = steady_clock::now() + kBurialTime;
  while (!burials_.empty() && steady_clock::now() < deadline) {
    WINNOW_ASSIGN_OR_RETURN(const AmqpConnection::Heard heard, connection_->Hear(kHearTime));
    if (const auto* confirmed = std::get_if<AmqpConnection::Confirmed>(&heard)) {
      WINNOW_RETURN_IF_ERROR(OnConfirmed(*confirmed));
    }
  }
  return OkStatus();
}

}  // namespace winnow::events
