#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/newsfeed/write/item_consumer.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/peers/peers.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::newsfeed {

// Reads items by CollectorService.BatchGetItems.
class ItemsClient final : public ItemConsumer::Items {
 public:
  explicit ItemsClient(const rpc::Peer& collector);

  StatusOr<std::vector<StatusOr<CollectedItem>>> Read(
      const rpc::CallContext& call, const std::vector<std::string>& ids) const override;

 private:
  rpc::Peer collector_;
  std::shared_ptr<collector::v1::CollectorService::Stub> stub_;
};

}  // namespace winnow::newsfeed
