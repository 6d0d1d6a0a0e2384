#include "services/collector/api/item_handlers.h"

#include <algorithm>
#include <chrono>

#include "services/collector/api/item_convert.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/uuid.h"
#include "services/platform/grpc/errors/rpc_status.h"

namespace winnow::collector {
namespace {

// A batch of a stream has this long: the stream itself may last for hours.
constexpr std::chrono::seconds kBatchTime{30};

Status CheckBatchSize(int size, const std::string& field) {
  if (size >= 1 && static_cast<size_t>(size) <= kMaxBatch) return OkStatus();
  return InvalidField(field, "has " + std::to_string(size) + " entries: send 1 to " +
                                 std::to_string(kMaxBatch) + " a call");
}

Status CheckId(const std::string& id, std::string field) {
  if (IsUuid(id)) return OkStatus();
  return InvalidField(std::move(field),
                      "is not a valid item ID: use the one BatchPutItems returned");
}

v1::PutItemResult ToResult(StatusOr<PutItem> put, const std::string& request_id) {
  v1::PutItemResult result;
  if (put.ok()) {
    *result.mutable_stored() = ToStored(*std::move(put));
  } else {
    *result.mutable_error() = rpc::ToRpcStatus(put.status(), request_id);
  }
  return result;
}

}  // namespace

// Refused items answer with their own error; the others are stored together.
StatusOr<std::vector<v1::PutItemResult>> ItemHandlers::Put(const rpc::CallContext& call,
                                                           std::span<const Sent> sent) {
  const Time now = clock_.Now();
  std::vector<Item> accepted;
  std::vector<Status> refusals;  // OK for those accepted
  accepted.reserve(sent.size());
  refusals.reserve(sent.size());
  for (const Sent& one : sent) {
    Violations violations;
    if (one.item == nullptr) {
      violations.Add(one.path, "is required: set the item");
    } else {
      Item item = FromProto(*one.item, one.path, violations);
      Accept(item, now, one.path, violations);
      if (violations.empty()) accepted.push_back(std::move(item));
    }
    refusals.push_back(violations.ToStatus());
  }
  const Deadline deadline = std::min(call.deadline, std::chrono::steady_clock::now() + kBatchTime);
  WINNOW_ASSIGN_OR_RETURN(
      auto stored, store_.Put(deadline, std::move(accepted), ChildOf(call.trace).ToTraceparent()));
  if (!stored.empty()) transport_.Wake("collector");
  std::vector<v1::PutItemResult> results;
  results.reserve(sent.size());
  auto next = stored.begin();
  for (const Status& refusal : refusals) {
    results.push_back(
        ToResult(refusal.ok() ? std::move(*next++) : StatusOr<PutItem>(refusal), call.request_id));
  }
  return results;
}

StatusOr<v1::BatchPutItemsResponse> ItemHandlers::BatchPutItems(
    const rpc::CallContext& call, const v1::BatchPutItemsRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckBatchSize(request.items_size(), "items"));
  std::vector<Sent> sent;
  for (const v1::Item& item : request.items()) {
    sent.push_back({&item, "items[" + std::to_string(sent.size()) + "]"});
  }
  WINNOW_ASSIGN_OR_RETURN(auto results, Put(call, sent));
  v1::BatchPutItemsResponse response;
  for (v1::PutItemResult& result : results) *response.add_results() = std::move(result);
  return response;
}

StatusOr<std::vector<v1::IngestItemsResponse>> ItemHandlers::IngestItems(
    const rpc::CallContext& call, std::span<const v1::IngestItemsRequest> requests) {
  std::vector<Sent> sent;
  sent.reserve(requests.size());
  for (const v1::IngestItemsRequest& request : requests) {
    sent.push_back({request.has_item() ? &request.item() : nullptr, "item"});
  }
  WINNOW_ASSIGN_OR_RETURN(auto results, Put(call, sent));
  std::vector<v1::IngestItemsResponse> responses(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    *responses[i].mutable_result() = std::move(results[i]);
  }
  return responses;
}

StatusOr<v1::GetItemResponse> ItemHandlers::GetItem(const rpc::CallContext& call,
                                                    const v1::GetItemRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckId(request.id(), "id"));
  WINNOW_ASSIGN_OR_RETURN(auto found, store_.Get(call.deadline, {LowerAscii(request.id())}));
  if (!found.front()) return NotFound("item", request.id());
  return rpc::Respond(&v1::GetItemResponse::mutable_item, ToProto(*std::move(found.front())));
}

StatusOr<v1::BatchGetItemsResponse> ItemHandlers::BatchGetItems(
    const rpc::CallContext& call, const v1::BatchGetItemsRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckBatchSize(request.ids_size(), "ids"));
  std::vector<std::string> ids;
  for (const std::string& id : request.ids()) {
    if (IsUuid(id)) ids.push_back(LowerAscii(id));
  }
  std::vector<std::optional<Item>> found;
  if (!ids.empty()) {
    WINNOW_ASSIGN_OR_RETURN(found, store_.Get(call.deadline, ids));
  }
  v1::BatchGetItemsResponse response;
  auto next = found.begin();
  for (int i = 0; i < request.ids_size(); ++i) {
    v1::GetItemResult& result = *response.add_results();
    Status error = CheckId(request.ids(i), "ids[" + std::to_string(i) + "]");
    if (error.ok()) {
      std::optional<Item> item = std::move(*next++);
      if (item) {
        *result.mutable_item() = ToProto(*std::move(item));
        continue;
      }
      error = NotFound("item", request.ids(i));
    }
    *result.mutable_error() = rpc::ToRpcStatus(error, call.request_id);
  }
  return response;
}

StatusOr<v1::ListItemsResponse> ItemHandlers::ListItems(const rpc::CallContext& call,
                                                        const v1::ListItemsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const ListQuery query, FromProto(request));
  WINNOW_ASSIGN_OR_RETURN(ItemPage page, store_.List(call.deadline, query));
  v1::ListItemsResponse response;
  for (Item& item : page.items) *response.add_items() = ToProto(std::move(item));
  if (page.next) response.set_next_page_token(ToPageToken(query, *page.next));
  return response;
}

}  // namespace winnow::collector
