#include "services/platform/events/amqp/amqp_transport.h"

#include <atomic>
#include <map>
#include <vector>

#include "services/platform/events/amqp/amqp_dead_letters.h"
#include "services/platform/events/amqp/amqp_publisher.h"
#include "services/platform/events/amqp/amqp_subscriber.h"
#include "services/platform/process/log.h"

namespace winnow::events {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFlushPoll{5};

}  // namespace

struct AmqpTransport::State {
  State(pg::Pool& p, Metrics& m, AmqpOptions o)
      : pool(p),
        metrics(m),
        options(std::move(o)),
        publisher(options.address, m),
        dead_letters(options.address) {}

  pg::Pool& pool;
  Metrics& metrics;
  const AmqpOptions options;
  AmqpPublisher publisher;
  AmqpDeadLetters dead_letters;
  std::map<std::string, std::unique_ptr<Relay>> relays;
  std::vector<std::unique_ptr<AmqpSubscriber>> subscribers;
  std::atomic<bool> running = false;

  void Flush(Deadline deadline);
};

// After Halt: hands what is left in the outboxes to the broker.
void AmqpTransport::State::Flush(Deadline deadline) {
  while (!relays.empty() && steady_clock::now() < deadline) {
    size_t read = 0;
    for (auto& [schema, relay] : relays) {
      const StatusOr<size_t> count = relay->Step();
      if (!count.ok()) {
        log::Warn("outboxes are not flushed", {{"error", Message(count.status())}});
        return;
      }
      read += *count;
    }
    if (read == 0 && publisher.Idle()) return;
    if (const Status health = publisher.health(); !health.ok()) {
      log::Warn("outboxes are not flushed; their events are published by the next process",
                {{"error", Message(health)}});
      return;
    }
    relays.begin()->second->AwaitWork(kFlushPoll);
  }
}

AmqpTransport::AmqpTransport(pg::Pool& pool, Metrics& metrics, AmqpOptions options)
    : state_(std::make_unique<State>(pool, metrics, std::move(options))) {}

AmqpTransport::~AmqpTransport() { Stop(steady_clock::now()); }

void AmqpTransport::AddConsumer(Consumer consumer) {
  state_->subscribers.push_back(std::make_unique<AmqpSubscriber>(
      state_->options.address, std::move(consumer), state_->options.queue, state_->metrics));
}

void AmqpTransport::AddProducer(const std::string& schema) {
  std::unique_ptr<Relay>& relay = state_->relays[schema];
  if (relay != nullptr) return;
  auto take = [state = state_.get(), &relay](std::vector<OutboxRow> rows) {
    state->publisher.Push(*relay, std::move(rows));
  };
  relay =
      std::make_unique<Relay>(state_->pool, state_->metrics, schema, state_->options.relay, take);
}

Status AmqpTransport::Start() {
  state_->running = true;
  state_->publisher.Start();
  for (auto& subscriber : state_->subscribers) subscriber->Start();
  for (auto& [schema, relay] : state_->relays) relay->Start();
  return OkStatus();
}

void AmqpTransport::Stop(Deadline deadline) {
  state_->dead_letters.Stop();
  if (!state_->running.exchange(false)) return;
  for (auto& subscriber : state_->subscribers) subscriber->Stop(deadline);
  for (auto& [schema, relay] : state_->relays) relay->Halt();
  state_->Flush(deadline);
  state_->publisher.Stop();
  for (auto& [schema, relay] : state_->relays) {
    const Status released = relay->Release(deadline);
    if (!released.ok()) {
      log::Warn("outbox lease is not given back; it ends by itself",
                {{"schema", schema}, {"error", Message(released)}});
    }
  }
}

void AmqpTransport::Wake(const std::string& schema) {
  const auto relay = state_->relays.find(schema);
  if (relay != state_->relays.end()) relay->second->Wake();
}

DeadLetters& AmqpTransport::dead_letters() { return state_->dead_letters; }

Status AmqpTransport::Check() {
  if (!state_->running) {
    return Unavailable(Reason::kShuttingDown, "events are not being delivered",
                       std::chrono::seconds(1));
  }
  WINNOW_RETURN_IF_ERROR(state_->publisher.health());
  for (const auto& subscriber : state_->subscribers) {
    WINNOW_RETURN_IF_ERROR(subscriber->health());
  }
  for (const auto& [schema, relay] : state_->relays) {
    WINNOW_RETURN_IF_ERROR(relay->health());
  }
  return OkStatus();
}

}  // namespace winnow::events
