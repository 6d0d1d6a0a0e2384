#include "services/collector/service.h"

#include "services/collector/api/item_handlers.h"
#include "services/collector/api/source_handlers.h"
#include "services/collector/config.h"
#include "services/collector/items/item_store.h"
#include "services/collector/runs/schedule_worker.h"
#include "services/platform/base/embedded_file.h"
#include "services/platform/base/uuid.h"
#include "services/platform/grpc/call/bind_methods.h"
#include "services/platform/postgres/log/sequencer.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::embedded {
extern const std::span<const File> collector_migrations;
}

namespace winnow::collector {
namespace {

#define WINNOW_SERVICE "winnow.collector.v1.CollectorService"

constexpr const char* kSchema = "collector";

using std::chrono::milliseconds;

class Service final : public v1::CollectorService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, ItemHandlers& handlers, SourceHandlers& sources)
      : binder_(runtime), handlers_(handlers), sources_(sources) {}

  WINNOW_UNARY(BatchPutItems, kWrite, handlers_)
  WINNOW_UNARY(GetItem, kRead, handlers_)
  WINNOW_UNARY(BatchGetItems, kRead, handlers_)
  WINNOW_UNARY(ListItems, kRead, handlers_)
  WINNOW_UNARY(CreateSource, kRead, sources_)
  WINNOW_UNARY(GetSource, kRead, sources_)
  WINNOW_UNARY(UpdateSource, kRead, sources_)
  WINNOW_UNARY(DeleteSource, kRead, sources_)
  WINNOW_UNARY(ListSources, kRead, sources_)
  WINNOW_UNARY(PauseSource, kRead, sources_)
  WINNOW_UNARY(ResumeSource, kRead, sources_)
  WINNOW_UNARY(RunSource, kRead, sources_)
  WINNOW_UNARY(ListRuns, kRead, sources_)
  WINNOW_UNARY(GetQuota, kRead, sources_)
  WINNOW_UNARY(ImportOpml, kWrite, sources_)
  WINNOW_WATCH(WatchRuns, kRead, sources_)
  WINNOW_INGEST(IngestItems, kWrite, handlers_)

 private:
  rpc::Binder binder_;
  ItemHandlers& handlers_;
  SourceHandlers& sources_;
};

// Where sources may be fetched from: public addresses, and what the operator named.
http::ClientOptions ClientOf(const char* name, const config::v1::Collector& config,
                             const std::vector<Credential>& credentials) {
  http::ClientOptions options;
  options.name = name;
  options.allow = {config.allow().begin(), config.allow().end()};
  options.user_agent = "winnow (news collector)";
  options.idle_connections = 32;
  for (const Credential& credential : credentials) {
    const auto origin = http::OriginOf(credential.base_url);
    if (origin.ok()) options.allow.push_back(*origin);
  }
  return options;
}

// Of a setting that was checked.
template <class Unit>
Unit As(const google::protobuf::Duration& duration) {
  return std::chrono::duration_cast<Unit>(FromDuration(duration).value_or(Micros(0)));
}

struct State {
  explicit State(Platform& platform)
      : config(platform.config.collector()),
        credentials(ReadCredentials(platform.config.collector())),
        keys(credentials.ok() ? *credentials : std::vector<Credential>()),
        store(platform.reads, platform.writes),
        sources(platform.reads, platform.writes),
        quotas(platform.reads, platform.writes),
        handlers(store, platform.clock, platform.transport),
        watches(sources, platform.metrics),
        source_handlers({sources, quotas, keys, watches, platform.clock, scheduler}),
        service(platform.runtime, handlers, source_handlers),
        source_client(ClientOf("source", config, keys), platform.metrics),
        image_client(ClientOf("image", config, {}), platform.metrics),
        ledger(keys, quotas, platform.clock, platform.metrics),
        images(image_client, quotas, platform.metrics,
               {.page_timeout = As<milliseconds>(config.page_timeout())}),
        runner({store, ledger, keys, source_client, images, platform.clock, &platform.transport,
                As<milliseconds>(config.vendor_timeout()),
                As<milliseconds>(config.feed_timeout())}),
        sequencer(platform.logs, {{kSchema, "runs"}, "runs", "id"}),
        scheduler(sources, quotas, ledger, runner, platform.clock, platform.metrics,
                  SchedulerOptions(platform)) {}

  ScheduleWorker::Options SchedulerOptions(Platform& platform) {
    ScheduleWorker::Options options;
    options.holder = NewUuidV7(platform.clock.Now());
    options.lease = As<milliseconds>(config.lease());
    options.threads = config.run_threads();
    options.run_retention = As<std::chrono::seconds>(config.run_retention());
    options.sequencer = &sequencer;
    return options;
  }
  Status Start() {
    WINNOW_RETURN_IF_ERROR(credentials.status());
    sequencer.Start();
    watches.Start();
    if (!config.no_schedule()) scheduler.Start();
    return OkStatus();
  }
  void Stop() {
    scheduler.Stop();
    watches.Stop();
    sequencer.Stop();
  }

  const config::v1::Collector& config;
  const StatusOr<std::vector<Credential>> credentials;
  const std::vector<Credential> keys;
  ItemStore store;
  SourceStore sources;
  QuotaStore quotas;
  ItemHandlers handlers;
  RunWatches watches;
  SourceHandlers source_handlers;
  Service service;
  http::Client source_client;
  http::Client image_client;
  LedgerClient ledger;
  ImageClient images;
  RunWorker runner;
  pg::Sequencer sequencer;
  ScheduleWorker scheduler;
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
  target.start = [state = state.get()](rpc::Peers&) { return state->Start(); };
  target.stop = [state = state.get()] { state->Stop(); };
  target.state = std::move(state);
  return target;
}

pg::Migrations CollectorMigrations() { return {kSchema, embedded::collector_migrations}; }

}  // namespace winnow::collector
