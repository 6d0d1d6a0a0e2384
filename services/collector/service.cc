#include "services/collector/service.h"

#include "services/collector/handlers.h"
#include "services/collector/store.h"
#include "services/platform/embedded.h"
#include "services/platform/grpc/binder.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::embedded {
extern const std::span<const File> collector_migrations;
}

namespace winnow::collector {
namespace {

constexpr const char* kSchema = "collector";

constexpr rpc::Method kBatchPutItems{"winnow.collector.v1.CollectorService/BatchPutItems",
                                     rpc::Lane::kWrite};
constexpr rpc::Method kIngestItems{"winnow.collector.v1.CollectorService/IngestItems",
                                   rpc::Lane::kWrite};
constexpr rpc::Method kGetItem{"winnow.collector.v1.CollectorService/GetItem"};
constexpr rpc::Method kBatchGetItems{"winnow.collector.v1.CollectorService/BatchGetItems"};
constexpr rpc::Method kListItems{"winnow.collector.v1.CollectorService/ListItems"};

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class Service final : public v1::CollectorService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  ServerUnaryReactor* BatchPutItems(CallbackServerContext* context,
                                    const v1::BatchPutItemsRequest* request,
                                    v1::BatchPutItemsResponse* response) override {
    return Unary(context, request, response, kBatchPutItems, &Handlers::BatchPutItems);
  }
  grpc::ServerBidiReactor<v1::IngestItemsRequest, v1::IngestItemsResponse>* IngestItems(
      CallbackServerContext* context) override {
    return binder_.Ingest<v1::IngestItemsRequest, v1::IngestItemsResponse>(
        context, kIngestItems, [this](const rpc::CallContext& call, auto requests) {
          return handlers_.IngestItems(call, requests);
        });
  }
  ServerUnaryReactor* GetItem(CallbackServerContext* context, const v1::GetItemRequest* request,
                              v1::GetItemResponse* response) override {
    return Unary(context, request, response, kGetItem, &Handlers::GetItem);
  }
  ServerUnaryReactor* BatchGetItems(CallbackServerContext* context,
                                    const v1::BatchGetItemsRequest* request,
                                    v1::BatchGetItemsResponse* response) override {
    return Unary(context, request, response, kBatchGetItems, &Handlers::BatchGetItems);
  }
  ServerUnaryReactor* ListItems(CallbackServerContext* context, const v1::ListItemsRequest* request,
                                v1::ListItemsResponse* response) override {
    return Unary(context, request, response, kListItems, &Handlers::ListItems);
  }

 private:
  template <class Request, class Response>
  ServerUnaryReactor* Unary(CallbackServerContext* context, const Request* request,
                            Response* response, const rpc::Method& method,
                            StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&,
                                                                    const Request&)) {
    return binder_.Unary(context, request, response, method,
                         [this, handler](const rpc::CallContext& call, const Request& r) {
                           return (handlers_.*handler)(call, r);
                         });
  }

  rpc::Binder binder_;
  Handlers& handlers_;
};

struct State {
  explicit State(Platform& platform)
      : store(platform.reads, platform.writes),
        handlers(store, platform.clock, [&platform] { platform.transport.Wake(kSchema); }),
        service(platform.runtime, handlers) {}
  Store store;
  Handlers handlers;
  Service service;
};

}  // namespace

rpc::Target MakeCollectorTarget(Platform& platform) {
  platform.transport.AddProducer(kSchema);
  auto state = std::make_shared<State>(platform);
  rpc::Target target;
  target.name = "collector";
  target.service_name = v1::CollectorService::service_full_name();
  target.grpc_service = &state->service;
  target.state = std::move(state);
  target.probes = {
      {"postgres", [&platform] { return platform.writes.Check(); }},
      {"events", [&platform] { return platform.transport.Check(); }},
  };
  return target;
}

pg::Migrations CollectorMigrations() { return {kSchema, embedded::collector_migrations}; }

}  // namespace winnow::collector
