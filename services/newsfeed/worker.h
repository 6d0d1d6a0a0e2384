#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/collected_item.h"
#include "services/newsfeed/store.h"
#include "services/newsfeed/store_metrics.h"
#include "services/platform/events/delivery.h"
#include "services/platform/grpc/call.h"
#include "services/platform/status.h"

namespace winnow::newsfeed {

// What the pipeline brings: accepted items become articles, duplicates become citations. Both are
// idempotent, whatever is delivered again and in whatever order.
class Worker {
 public:
  // The items of these ids (at most 1,000), in their order, each alone: CollectorService.
  using ReadItems = std::function<StatusOr<std::vector<StatusOr<CollectedItem>>>(
      const rpc::CallContext&, const std::vector<std::string>& ids)>;

  // `rules` outlives it, and does not change once it is started.
  Worker(Store& store, UpsertMetrics& metrics, const CategoryRules& rules)
      : store_(store), metrics_(metrics), rules_(rules) {}

  // What the transport delivers to this worker; before Start it is told to come again.
  std::vector<events::Consumer> Consumers();

  void Start(ReadItems read_items);
  void Stop();

 private:
  std::vector<Status> Accept(std::span<const events::Envelope> envelopes);
  std::vector<Status> Cite(std::span<const events::Envelope> envelopes);
  StatusOr<std::vector<StatusOr<CollectedItem>>> Read(const rpc::CallContext& call,
                                                      std::span<const events::Envelope> envelopes);

  Store& store_;
  UpsertMetrics& metrics_;
  const CategoryRules& rules_;
  std::mutex mutex_;
  ReadItems read_items_;  // empty while stopped
};

}  // namespace winnow::newsfeed
