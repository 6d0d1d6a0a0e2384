#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/collector/items/item_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "winnow/collector/v1/collector_service.pb.h"

namespace winnow::collector {

// One method per RPC of CollectorService; its proto says what each does.
class ItemHandlers {
 public:
  // `transport` delivers the events of stored items.
  ItemHandlers(ItemStore& store, const Clock& clock, events::Transport& transport)
      : store_(store), clock_(clock), transport_(transport) {}

  WINNOW_HANDLER(BatchPutItems);
  StatusOr<std::vector<v1::IngestItemsResponse>> IngestItems(
      const rpc::CallContext& call, std::span<const v1::IngestItemsRequest> requests);
  WINNOW_HANDLER(GetItem);
  WINNOW_HANDLER(BatchGetItems);
  WINNOW_HANDLER(ListItems);

 private:
  // An item of a request, and what it is called there.
  struct Sent {
    const v1::Item* item;  // null when it is missing
    std::string path;
  };
  StatusOr<std::vector<v1::PutItemResult>> Put(const rpc::CallContext& call,
                                               std::span<const Sent> sent);

  ItemStore& store_;
  const Clock& clock_;
  events::Transport& transport_;
};

}  // namespace winnow::collector
