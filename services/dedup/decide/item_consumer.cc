#include "services/dedup/decide/item_consumer.h"

#include <chrono>

#include "services/dedup/decide/decision_waiter.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/process/pause.h"

namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTries = 3;
constexpr milliseconds kFirstBackoff(100);
constexpr std::chrono::seconds kDecideTime(30);

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

DecisionJob JobOf(Document document, const TextRules& rules, Deadline deadline) {
  DecisionJob job;
  job.lead = rules.NormalizedLead(document.text);
  job.print = rules.OfNormalized(rules.normalizer().Normalize(document.title), job.lead,
                                 document.canonical_url);
  job.document = std::move(document);
  job.document.text.clear();  // what of it is needed is in the lead
  job.deadline = deadline;
  return job;
}

void ItemConsumer::SetFetch(FetchItems fetch) {
  std::lock_guard lock(mutex_);
  fetch_ = std::move(fetch);
}

void ItemConsumer::Stop() { stop_.request_stop(); }

// False if it was stopped.
bool ItemConsumer::WaitBeforeTry(int tries) {
  return Pause(stop_.get_token(), kFirstBackoff * (1 << (tries - 1)));
}

StatusOr<std::vector<StatusOr<Document>>> ItemConsumer::FetchWithRetries(
    const std::vector<std::string>& ids, const std::string& traceparent) {
  FetchItems fetch;
  {
    std::lock_guard lock(mutex_);
    if (!fetch_ || stop_.stop_requested()) return rpc::ShuttingDown();
    fetch = fetch_;
  }
  for (int tries = 1;; ++tries) {
    auto items = fetch(ids, traceparent);
    if (items.ok() && items->size() != ids.size()) {
      return Internal("CollectorService answered " + std::to_string(items->size()) + " of " +
                      std::to_string(ids.size()) + " items");
    }
    if (items.ok() || !MayPass(items.status())) return items;
    if (tries == kTries || !WaitBeforeTry(tries)) return items.status();
    parts_.metrics.item_retries.Increment();
  }
}

std::vector<Status> ItemConsumer::Deliver(std::span<const winnow::events::v1::Envelope> envelopes) {
  std::vector<Status> statuses(envelopes.size());
  std::vector<std::string> ids;
  std::vector<size_t> places;
  for (size_t i = 0; i < envelopes.size(); ++i) {
    ids.push_back(envelopes[i].item_collected().item_id());
    if (ids.back().empty()) {
      ids.pop_back();
      statuses[i] = InvalidField("item_collected.item_id", "is required: there is no item to read");
    } else {
      places.push_back(i);
    }
  }
  if (ids.empty()) return statuses;
  auto documents = FetchWithRetries(ids, envelopes.front().traceparent());
  const Deadline deadline = steady_clock::now() + kDecideTime;
  DecisionWaiter decisions(worker_);
  std::vector<size_t> waiting;
  for (size_t k = 0; k < places.size(); ++k) {
    Status& status = statuses[places[k]];
    status = documents.ok() ? (*documents)[k].status() : documents.status();
    if (!status.ok()) continue;
    Document document = *std::move((*documents)[k]);
    Violations violations;
    Accept(document, IdRule::kRequired, "item", violations);
    status = violations.ToStatus();
    if (!status.ok()) continue;
    DecisionJob job = JobOf(std::move(document), parts_.rules, deadline);
    job.is_item = true;
    job.traceparent = envelopes[places[k]].traceparent();
    decisions.Add(std::move(job));
    waiting.push_back(places[k]);
  }
  for (size_t k = 0; k < waiting.size(); ++k) statuses[waiting[k]] = decisions.Take(k).status();
  return statuses;
}

}  // namespace winnow::dedup
