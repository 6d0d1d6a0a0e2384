#include "services/platform/events/core/consumer_queue.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/process/log.h"

namespace winnow::events {
namespace {

using std::chrono::steady_clock;

Counter& CounterOf(Metrics& metrics, const Consumer& consumer, const char* what, const char* help) {
  return metrics.GetCounter("winnow_events_" + std::string(what) + "_total", help,
                            {{"service", consumer.service}, {"event", consumer.event}});
}

// What operators are shown: as with calls, driver text and the like stay in the log.
std::string ReasonOfDeath(const Status& status) {
  if (status.code() != StatusCode::kInternal) {
    return KeptReason(absl::StatusCodeToString(status.code()) + ": " + Message(status));
  }
  log::Error("consumer failed", {{"error", Message(status)}});
  return "INTERNAL: the consumer failed; its log says why";
}

}  // namespace

ConsumerQueue::ConsumerQueue(Consumer consumer, const QueueOptions& options, Metrics& metrics)
    : consumer_(std::move(consumer)),
      options_(options),
      delivered_(
          CounterOf(metrics, consumer_, "delivered", "Events that their consumer has done.")),
      retried_(CounterOf(metrics, consumer_, "retried", "Deliveries that are to come again.")),
      dead_(CounterOf(metrics, consumer_, "dead", "Events that became dead letters.")),
      held_gauge_(metrics.GetGauge(
          "winnow_events_held",
          "1 while a consumer cannot take its events: what it needs is unavailable or too slow.",
          {{"service", consumer_.service}, {"event", consumer_.event}})),
      random_(std::random_device{}()) {}

ConsumerQueue::~ConsumerQueue() { Stop(); }

void ConsumerQueue::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void ConsumerQueue::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ConsumerQueue::Push(std::vector<Delivery> deliveries) {
  {
    const std::lock_guard lock(mutex_);
    std::move(deliveries.begin(), deliveries.end(), std::back_inserter(ready_));
  }
  changed_.notify_all();
}

void ConsumerQueue::Forget(const Origin& origin) {
  const auto of_origin = [&](const Delivery& delivery) { return delivery.origin.get() == &origin; };
  const std::lock_guard lock(mutex_);
  std::erase_if(ready_, of_origin);
  std::erase_if(waiting_, [&](const auto& entry) { return of_origin(entry.second); });
}

bool ConsumerQueue::Idle() const {
  const std::lock_guard lock(mutex_);
  return ready_.empty() && !delivering_;
}

uint64_t ConsumerQueue::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

void ConsumerQueue::Run(const std::stop_token& stop) {
  while (true) {
    std::vector<Delivery> batch = TakeBatch(stop);
    if (batch.empty()) return;
    std::vector<Envelope> envelopes;
    envelopes.reserve(batch.size());
    for (Delivery& delivery : batch) envelopes.push_back(std::move(delivery.envelope));
    bool threw = false;
    const std::vector<Status> statuses = Deliver(envelopes, threw);
    for (size_t i = 0; i < batch.size(); ++i) batch[i].envelope = std::move(envelopes[i]);
    Settle(std::move(batch), statuses, threw);
  }
}

// Empty when the queue stops.
std::vector<Delivery> ConsumerQueue::TakeBatch(const std::stop_token& stop) {
  const auto limit = static_cast<size_t>(std::max(1, consumer_.max_batch));
  std::unique_lock lock(mutex_);
  delivering_ = false;
  const auto is_ready = [this] { return !ready_.empty(); };
  while (!stop.stop_requested()) {
    for (const auto now = steady_clock::now(); !waiting_.empty();) {
      if (waiting_.begin()->first > now) break;
      ready_.push_back(std::move(waiting_.extract(waiting_.begin()).mapped()));
    }
    if (!ready_.empty()) break;
    if (waiting_.empty()) {
      changed_.wait(lock, stop, is_ready);
    } else {
      const auto next = waiting_.begin()->first;  // the entry may go while this waits
      changed_.wait_until(lock, stop, next, is_ready);
    }
  }
  std::vector<Delivery> batch;
  while (!stop.stop_requested() && !ready_.empty() && batch.size() < limit) {
    if (ready_.front().alone && !batch.empty()) break;
    batch.push_back(std::move(ready_.front()));
    ready_.pop_front();
    if (batch.back().alone) break;
  }
  delivering_ = !batch.empty();
  begun_ += batch.empty() ? 0 : 1;
  return batch;
}

std::vector<Status> ConsumerQueue::Deliver(std::span<const Envelope> envelopes, bool& threw) {
  try {
    std::vector<Status> statuses = consumer_.deliver(envelopes);
    if (statuses.size() == envelopes.size()) return statuses;
    log::Error("consumer answered another number of events than it was given",
               {{"service", consumer_.service},
                {"event", consumer_.event},
                {"given", envelopes.size()},
                {"answered", statuses.size()}});
  } catch (const std::exception& e) {
    log::Error("consumer threw", {{"service", consumer_.service},
                                  {"event", consumer_.event},
                                  {"what", std::string(e.what())}});
  }
  threw = true;
  return std::vector<Status>(envelopes.size(), Internal("the consumer failed with an exception"));
}

// Whether a try is held against the event. One that timed out comes again alone.
bool ConsumerQueue::Counts(Delivery& delivery, Verdict verdict) const {
  if (verdict != Verdict::kTimedOut) return verdict == Verdict::kRetry;
  const bool others_were_done = std::exchange(delivery.done_before, done_) < done_;
  return std::exchange(delivery.alone, true) && others_were_done;
}

// Whether the event is to come again, and if so prepares it for that.
bool ConsumerQueue::Again(Delivery& delivery, const Status& status, bool threw) {
  if (threw && !delivery.alone) {
    delivery.alone = true;
    delivery.done_before = done_;
    return true;
  }
  const Verdict verdict = VerdictOf(status);
  if (verdict == Verdict::kDead) return false;
  if (Counts(delivery, verdict)) ++delivery.tries;
  return delivery.tries < options_.max_deliveries;
}

DeadLetter ConsumerQueue::Bury(const Delivery& delivery, const Status& status) {
  dead_.Increment();
  log::Warn("event is a dead letter", {{"service", consumer_.service},
                                       {"event", consumer_.event},
                                       {"event_id", delivery.envelope.id()},
                                       {"deliveries", delivery.deliveries},
                                       {"code", absl::StatusCodeToString(status.code())}});
  return {consumer_.service, ReasonOfDeath(status), delivery.deliveries};
}

void ConsumerQueue::Settle(std::vector<Delivery> batch, const std::vector<Status>& statuses,
                           bool threw) {
  std::map<std::shared_ptr<Origin>, std::vector<DeliveryResult>> endings;
  std::vector<Delivery> again;
  for (size_t i = 0; i < batch.size(); ++i) {
    Delivery& delivery = batch[i];
    ++delivery.deliveries;
    if (statuses[i].ok()) {
      delivered_.Increment();
      ++done_;
      endings[delivery.origin].push_back({delivery.ticket, std::nullopt});
    } else if (Again(delivery, statuses[i], threw)) {
      delivery.asked = RetryAfterOf(statuses[i]).value_or(std::chrono::milliseconds(0));
      again.push_back(std::move(delivery));
    } else {
      endings[delivery.origin].push_back({delivery.ticket, Bury(delivery, statuses[i])});
    }
  }
  TellWhetherHeld(statuses);
  for (auto& [origin, ended] : endings) origin->Settle(std::move(ended));
  if (!again.empty()) WaitAside(std::move(again));
}

// Once when it begins and once when it ends, however many events wait meanwhile.
void ConsumerQueue::TellWhetherHeld(const std::vector<Status>& statuses) {
  const auto away = std::find_if(statuses.begin(), statuses.end(), [](const Status& status) {
    const Verdict verdict = VerdictOf(status);
    return verdict == Verdict::kRetryLater || verdict == Verdict::kTimedOut;
  });
  const bool held = away != statuses.end();
  if (held == held_) return;
  held_ = held;
  held_gauge_.Set(held ? 1 : 0);
  if (held) {
    log::Warn(
        "events are held up",
        {{"service", consumer_.service}, {"event", consumer_.event}, {"error", Message(*away)}});
  } else {
    log::Info("events go on", {{"service", consumer_.service}, {"event", consumer_.event}});
  }
}

void ConsumerQueue::WaitAside(std::vector<Delivery> again) {
  retried_.Increment(static_cast<double>(again.size()));
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (Delivery& delivery : again) {
    if (delivery.origin->Lost()) continue;
    const auto due = now + Backoff(delivery);
    waiting_.emplace(due, std::move(delivery));
  }
}

std::chrono::milliseconds ConsumerQueue::Backoff(const Delivery& delivery) {
  auto delay = options_.first_backoff;
  for (int i = 1; i < delivery.deliveries && delay < options_.max_backoff; ++i) delay *= 2;
  delay = std::min(delay, options_.max_backoff);
  std::uniform_int_distribution<int64_t> part(delay.count() / 2, delay.count());
  return std::max(std::chrono::milliseconds(part(random_)),
                  std::min(delivery.asked, options_.max_backoff));
}

}  // namespace winnow::events
