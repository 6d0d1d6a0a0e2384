#include "services/collector/service.h"

#include "services/collector/handlers.h"
#include "services/collector/handlers_sources.h"
#include "services/collector/service_credentials.h"
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

using rpc::Lane;
#define WINNOW_METHOD(Name, lane) \
  constexpr rpc::Method k##Name { "winnow.collector.v1.CollectorService/" #Name, Lane::lane }
WINNOW_METHOD(BatchPutItems, kWrite);
WINNOW_METHOD(IngestItems, kWrite);
WINNOW_METHOD(GetItem, kRead);
WINNOW_METHOD(BatchGetItems, kRead);
WINNOW_METHOD(ListItems, kRead);
WINNOW_METHOD(CreateSource, kRead);
WINNOW_METHOD(GetSource, kRead);
WINNOW_METHOD(UpdateSource, kRead);
WINNOW_METHOD(DeleteSource, kRead);
WINNOW_METHOD(ListSources, kRead);
WINNOW_METHOD(PauseSource, kRead);
WINNOW_METHOD(ResumeSource, kRead);
WINNOW_METHOD(RunSource, kRead);
WINNOW_METHOD(ListRuns, kRead);
WINNOW_METHOD(GetQuota, kRead);
WINNOW_METHOD(ImportOpml, kWrite);
#undef WINNOW_METHOD

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class Service final : public v1::CollectorService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers, SourceHandlers& sources)
      : binder_(runtime), handlers_(handlers), sources_(sources) {}

// The same for all: the handler of the same name.
#define WINNOW_UNARY(Name, handlers)                                                         \
  ServerUnaryReactor* Name(CallbackServerContext* context, const v1::Name##Request* request, \
                           v1::Name##Response* response) override {                          \
    return binder_.Unary(context, request, response, k##Name,                                \
                         [this](const rpc::CallContext& call, const v1::Name##Request& r) {  \
                           return handlers.Name(call, r);                                    \
                         });                                                                 \
  }
  WINNOW_UNARY(BatchPutItems, handlers_)
  WINNOW_UNARY(GetItem, handlers_)
  WINNOW_UNARY(BatchGetItems, handlers_)
  WINNOW_UNARY(ListItems, handlers_)
  WINNOW_UNARY(CreateSource, sources_)
  WINNOW_UNARY(GetSource, sources_)
  WINNOW_UNARY(UpdateSource, sources_)
  WINNOW_UNARY(DeleteSource, sources_)
  WINNOW_UNARY(ListSources, sources_)
  WINNOW_UNARY(PauseSource, sources_)
  WINNOW_UNARY(ResumeSource, sources_)
  WINNOW_UNARY(RunSource, sources_)
  WINNOW_UNARY(ListRuns, sources_)
  WINNOW_UNARY(GetQuota, sources_)
  WINNOW_UNARY(ImportOpml, sources_)
#undef WINNOW_UNARY

  grpc::ServerBidiReactor<v1::IngestItemsRequest, v1::IngestItemsResponse>* IngestItems(
      CallbackServerContext* context) override {
    return binder_.Ingest<v1::IngestItemsRequest, v1::IngestItemsResponse>(
        context, kIngestItems, [this](const rpc::CallContext& call, auto requests) {
          return handlers_.IngestItems(call, requests);
        });
  }

 private:
  rpc::Binder binder_;
  Handlers& handlers_;
  SourceHandlers& sources_;
};

struct State {
  explicit State(Platform& platform)
      : credentials(ReadCredentials(platform.config.collector())),
        keys(credentials.ok() ? *credentials : std::vector<Credential>()),
        store(platform.reads, platform.writes),
        sources(platform.reads, platform.writes),
        quotas(platform.reads, platform.writes),
        handlers(store, platform.clock, [&platform] { platform.transport.Wake(kSchema); }),
        source_handlers({sources, quotas, keys, platform.clock, [] {}}),
        service(platform.runtime, handlers, source_handlers) {}

  const StatusOr<std::vector<Credential>> credentials;
  const std::vector<Credential> keys;
  Store store;
  SourceStore sources;
  QuotaStore quotas;
  Handlers handlers;
  SourceHandlers source_handlers;
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
  target.probes = {
      {"postgres", [&platform] { return platform.writes.Check(); }},
      {"events", [&platform] { return platform.transport.Check(); }},
  };
  target.start = [state = state.get()](rpc::Peers&) { return state->credentials.status(); };
  target.state = std::move(state);
  return target;
}

pg::Migrations CollectorMigrations() { return {kSchema, embedded::collector_migrations}; }

}  // namespace winnow::collector
