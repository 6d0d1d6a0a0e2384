#include "services/platform/events/core/in_process_transport.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "services/platform/events/core/consumer_queue.h"
#include "services/platform/events/core/outbox_dead_letters.h"
#include "services/platform/events/core/relay.h"
#include "services/platform/process/log.h"

namespace winnow::events {
namespace {

using std::chrono::steady_clock;
using Queues = std::vector<std::unique_ptr<ConsumerQueue>>;

constexpr std::chrono::milliseconds kFlushPoll{5};
const Queues kNobody;

// The outbox of one schema: a row is settled when the last of its consumers is done with it.
class OutboxOrigin final : public Origin {
 public:
  explicit OutboxOrigin(Relay& relay) : relay_(relay) {}

  void Expect(int64_t id, size_t consumers) {
    const std::lock_guard lock(mutex_);
    rows_[id] = {consumers, {}};
  }

  void Settle(std::vector<DeliveryResult> endings) override {
    std::vector<Settled> settled;
    {
      const std::lock_guard lock(mutex_);
      for (DeliveryResult& ending : endings) {
        const auto row = rows_.find(static_cast<int64_t>(ending.ticket));
        if (ending.dead) row->second.dead.push_back(*std::move(ending.dead));
        if (--row->second.consumers > 0) continue;
        settled.push_back({row->first, std::move(row->second.dead)});
        rows_.erase(row);
      }
    }
    if (!settled.empty()) relay_.Settle(std::move(settled));
  }

 private:
  struct Row {
    size_t consumers = 0;  // that still have it
    std::vector<DeadLetter> dead;
  };
  Relay& relay_;
  std::mutex mutex_;
  std::map<int64_t, Row> rows_;
};

}  // namespace

struct InProcessTransport::State {
  State(pg::Pool& p, Metrics& m, InProcessOptions o)
      : pool(p),
        metrics(m),
        options(o),
        dead_letters(p),
        unknown(m.GetCounter("winnow_events_unknown_total",
                             "Events that this version does not know: dead letters.")) {}

  pg::Pool& pool;
  Metrics& metrics;
  const InProcessOptions options;
  OutboxDeadLetters dead_letters;
  Counter& unknown;
  std::map<std::string, Queues> queues;  // by event
  std::map<std::string, std::unique_ptr<Relay>> relays;
  std::map<Relay*, std::shared_ptr<OutboxOrigin>> origins;
  std::atomic<bool> running = false;

  void Take(Relay& relay, std::vector<OutboxRow> rows);
  std::vector<DeadLetter> Bury(const OutboxRow& row, const Queues& consumers);
  template <class Visit>
  void EachQueue(Visit visit) {
    for (auto& [event, consumers] : queues) {
      for (auto& queue : consumers) visit(*queue);
    }
  }
  bool Idle();
  uint64_t Begun();
  StatusOr<bool> FlushRound();
  void Flush(Deadline deadline);
};

// Hands rows to the queues of their events. What nobody here takes, or can read, is settled now.
void InProcessTransport::State::Take(Relay& relay, std::vector<OutboxRow> rows) {
  const std::shared_ptr<OutboxOrigin>& origin = origins.at(&relay);
  std::map<ConsumerQueue*, std::vector<Delivery>> deliveries;
  std::vector<Settled> settled;
  for (const OutboxRow& row : rows) {
    const auto found = queues.find(row.event);
    const Queues& consumers = found == queues.end() ? kNobody : found->second;
    Envelope envelope;
    const bool readable = IsKnownEvent(row.event) && envelope.ParseFromString(row.envelope) &&
                          EventName(envelope) == row.event;
    if (!readable) {
      settled.push_back({row.id, Bury(row, consumers)});
    } else if (consumers.empty()) {
      settled.push_back({row.id, {}});
    } else {
      origin->Expect(row.id, consumers.size());
      for (const auto& queue : consumers) {
        deliveries[queue.get()].push_back({envelope, origin, static_cast<uint64_t>(row.id)});
      }
    }
  }
  for (auto& [queue, batch] : deliveries) queue->Push(std::move(batch));
  if (!settled.empty()) relay.Settle(std::move(settled));
}

// The dead letters of a row that cannot be read: one per consumer, or one that is nobody's.
std::vector<DeadLetter> InProcessTransport::State::Bury(const OutboxRow& row,
                                                        const Queues& consumers) {
  const bool known = IsKnownEvent(row.event);
  const std::string reason = known ? "the payload is not a " + row.event
                                   : "this version does not know the event " + row.event;
  log::Warn("event is a dead letter", {{"outbox_id", row.id}, {"reason", reason}});
  std::vector<DeadLetter> dead;
  for (const auto& queue : consumers) {
    queue->CountDead();
    dead.push_back({queue->consumer().service, reason, 0});
  }
  if (dead.empty()) {
    unknown.Increment();
    dead.push_back({"", reason, 0});
  }
  return dead;
}

bool InProcessTransport::State::Idle() {
  bool idle = true;
  EachQueue([&](const ConsumerQueue& queue) { idle = idle && queue.Idle(); });
  return idle;
}

uint64_t InProcessTransport::State::Begun() {
  uint64_t begun = 0;
  EachQueue([&](const ConsumerQueue& queue) { begun += queue.begun(); });
  return begun;
}

// One look at every outbox. True when all is delivered that can be: nobody was delivering before,
// no outbox had a row, and no delivery, which could have written another event, began meanwhile.
StatusOr<bool> InProcessTransport::State::FlushRound() {
  const bool idle = Idle();
  const uint64_t begun = Begun();
  size_t read = 0;
  for (auto& [schema, relay] : relays) {
    WINNOW_ASSIGN_OR_RETURN(const size_t count, relay->Step());
    read += count;
  }
  return idle && read == 0 && begun == Begun() && Idle();
}

void InProcessTransport::State::Flush(Deadline deadline) {
  while (!relays.empty() && steady_clock::now() < deadline) {
    const StatusOr<bool> done = FlushRound();
    if (!done.ok()) {
      log::Warn("outboxes are not flushed", {{"error", Message(done.status())}});
      return;
    }
    if (*done) return;
    relays.begin()->second->AwaitWork(kFlushPoll);
  }
}

InProcessTransport::InProcessTransport(pg::Pool& pool, Metrics& metrics, InProcessOptions options)
    : state_(std::make_unique<State>(pool, metrics, options)) {}

InProcessTransport::~InProcessTransport() { Stop(steady_clock::now()); }

void InProcessTransport::AddConsumer(Consumer consumer) {
  Queues& consumers = state_->queues[consumer.event];
  consumers.push_back(
      std::make_unique<ConsumerQueue>(std::move(consumer), state_->options.queue, state_->metrics));
}

void InProcessTransport::AddProducer(const std::string& schema) {
  std::unique_ptr<Relay>& relay = state_->relays[schema];
  if (relay != nullptr) return;
  state_->dead_letters.AddSchema(schema);
  const RelayOptions options{state_->options.poll_interval, state_->options.lease};
  auto take = [state = state_.get(), &relay](std::vector<OutboxRow> rows) {
    state->Take(*relay, std::move(rows));
  };
  relay = std::make_unique<Relay>(state_->pool, state_->metrics, schema, options, take);
  state_->origins.emplace(relay.get(), std::make_shared<OutboxOrigin>(*relay));
}

Status InProcessTransport::Start() {
  state_->running = true;
  state_->EachQueue([](ConsumerQueue& queue) { queue.Start(); });
  for (auto& [schema, relay] : state_->relays) relay->Start();
  return OkStatus();
}

void InProcessTransport::Stop(Deadline deadline) {
  if (!state_->running.exchange(false)) return;
  for (auto& [schema, relay] : state_->relays) relay->Halt();
  state_->Flush(deadline);
  state_->EachQueue([](ConsumerQueue& queue) { queue.Stop(); });
  for (auto& [schema, relay] : state_->relays) {
    const Status released = relay->Release(deadline);
    if (!released.ok()) {
      log::Warn("outbox lease is not given back; it ends by itself",
                {{"schema", schema}, {"error", Message(released)}});
    }
  }
}

void InProcessTransport::Wake(const std::string& schema) {
  const auto relay = state_->relays.find(schema);
  if (relay != state_->relays.end()) relay->second->Wake();
}

DeadLetters& InProcessTransport::dead_letters() { return state_->dead_letters; }

Status InProcessTransport::Check() {
  if (!state_->running) {
    return Unavailable(Reason::kShuttingDown, "events are not being delivered",
                       std::chrono::seconds(1));
  }
  for (const auto& [schema, relay] : state_->relays) {
    WINNOW_RETURN_IF_ERROR(relay->health());
  }
  return OkStatus();
}

}  // namespace winnow::events
