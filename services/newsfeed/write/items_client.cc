#include "services/newsfeed/write/items_client.h"

#include <utility>

#include "services/platform/grpc/errors/error_exit.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::newsfeed {
namespace {

using collector::v1::CollectorService;

StatusOr<CollectedItem> FromProto(collector::v1::Item item) {
  CollectedItem collected;
  collected.id = std::move(*item.mutable_id());
  collected.ns = std::move(*item.mutable_namespace_());
  collected.channel = std::move(*item.mutable_channel());
  collected.url = std::move(*item.mutable_url());
  collected.title = std::move(*item.mutable_title());
  collected.snippet = std::move(*item.mutable_snippet());
  collected.language = std::move(*item.mutable_language());
  collected.source_name = std::move(*item.mutable_channel_name());
  collected.source_icon_url = std::move(*item.mutable_channel_icon_url());
  collected.image_url = std::move(*item.mutable_image_url());
  collected.video_url = std::move(*item.mutable_video_url());
  collected.source_categories.assign(item.source_categories().begin(),
                                     item.source_categories().end());
  collected.keywords.assign(item.keywords().begin(), item.keywords().end());
  collected.ai_tags.assign(item.ai_tags().begin(), item.ai_tags().end());
  if (item.has_publish_time()) {
    WINNOW_ASSIGN_OR_RETURN(collected.publish_time, FromTimestamp(item.publish_time()));
  }
  WINNOW_ASSIGN_OR_RETURN(collected.arrival_time, FromTimestamp(item.arrival_time()));
  return collected;
}

}  // namespace

ItemsClient::ItemsClient(const rpc::Peer& collector)
    : collector_(collector), stub_(CollectorService::NewStub(collector.channel())) {}

StatusOr<std::vector<StatusOr<CollectedItem>>> ItemsClient::Read(
    const rpc::CallContext& call, const std::vector<std::string>& ids) const {
  collector::v1::BatchGetItemsRequest request;
  for (const std::string& id : ids) request.add_ids(id);
  collector::v1::BatchGetItemsResponse response;
  grpc::ClientContext context;
  collector_.Prepare(context, call);
  WINNOW_RETURN_IF_ERROR(
      rpc::FromGrpcStatus(stub_->BatchGetItems(&context, request, &response), "collector"));
  if (response.results_size() != request.ids_size()) {
    return Internal("the collector answered " + std::to_string(response.results_size()) + " of " +
                    std::to_string(request.ids_size()) + " items");
  }
  std::vector<StatusOr<CollectedItem>> items;
  items.reserve(ids.size());
  for (collector::v1::GetItemResult& result : *response.mutable_results()) {
    items.push_back(result.has_item() ? FromProto(std::move(*result.mutable_item()))
                                      : rpc::FromRpcStatus(result.error()));
  }
  return items;
}

}  // namespace winnow::newsfeed
