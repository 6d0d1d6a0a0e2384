#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "services/dedup/decide/decision_worker.h"
#include "services/dedup/text/fingerprint.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::dedup {

// Reads items from CollectorService: one answer an id, in order. NOT_FOUND where there is none.
using FetchItems = std::function<StatusOr<std::vector<StatusOr<Document>>>(
    const std::vector<std::string>& ids, const std::string& traceparent)>;

// Consumes ItemCollected: reads the items, has them decided, and lets the events say what became
// of each.
class ItemConsumer {
 public:
  ItemConsumer(DecisionWorker& worker, const DecisionParts& parts)
      : worker_(worker), parts_(parts) {}

  // Until then events come again later.
  void SetFetch(FetchItems fetch);
  // A status for each envelope, as events::Consumer asks.
  std::vector<Status> Deliver(std::span<const winnow::events::v1::Envelope> envelopes);
  // Ends waiting between tries.
  void Stop();

 private:
  StatusOr<std::vector<StatusOr<Document>>> FetchWithRetries(const std::vector<std::string>& ids,
                                                             const std::string& traceparent);
  bool WaitBeforeTry(int tries);

  DecisionWorker& worker_;
  const DecisionParts& parts_;
  std::mutex mutex_;
  std::stop_source stop_;
  FetchItems fetch_;
};

// The job of an accepted document, without its callback.
DecisionJob JobOf(Document document, const TextRules& rules, Deadline deadline);

}  // namespace winnow::dedup
