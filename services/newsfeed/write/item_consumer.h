#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "services/newsfeed/articles/category_store.h"
#include "services/newsfeed/labels/category_rules.h"
#include "services/newsfeed/write/collected_item.h"
#include "services/newsfeed/write/upsert_metrics.h"
#include "services/newsfeed/write/write_store.h"
#include "services/platform/base/status.h"
#include "services/platform/events/core/consumer.h"
#include "services/platform/grpc/call/call_context.h"

namespace winnow::newsfeed {

// Consumes the pipeline's events: accepted items become articles, duplicates become citations. Both
// are idempotent, however often and in whatever order events are delivered.
class ItemConsumer {
 public:
  // CollectorService, as this reads it.
  class Items {
   public:
    virtual ~Items() = default;
    // One result for each id (at most 1,000), in order.
    virtual StatusOr<std::vector<StatusOr<CollectedItem>>> Read(
        const rpc::CallContext& call, const std::vector<std::string>& ids) const = 0;
  };

  // All outlive it. `rules` does not change once it is started.
  ItemConsumer(WriteStore& store, CategoryStore& categories, UpsertMetrics& metrics,
               const CategoryRules& rules)
      : store_(store), categories_(categories), metrics_(metrics), rules_(rules) {}

  // Deliveries before Start and after Stop fail with UNAVAILABLE and are repeated later.
  std::vector<events::Consumer> Consumers();
  void Start(std::shared_ptr<const Items> items);
  void Stop();

 private:
  std::vector<Status> Accept(std::span<const events::Envelope> envelopes);
  std::vector<Status> Cite(std::span<const events::Envelope> envelopes);
  StatusOr<std::vector<StatusOr<CollectedItem>>> Read(const rpc::CallContext& call,
                                                      std::span<const events::Envelope> envelopes);

  WriteStore& store_;
  CategoryStore& categories_;
  UpsertMetrics& metrics_;
  const CategoryRules& rules_;
  std::mutex mutex_;
  std::shared_ptr<const Items> items_;  // null while stopped
};

}  // namespace winnow::newsfeed
