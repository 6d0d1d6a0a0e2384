#include "services/polling/service.h"

#include "services/platform/grpc/call/bind_methods.h"
#include "services/polling/api/handlers.h"
#include "services/polling/leases/sweep_worker.h"
#include "services/polling/view/view_worker.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::polling {
namespace {

#define WINNOW_SERVICE "winnow.polling.v1.PollingRegistryService"

constexpr char kSchema[] = "polling";

class Service final : public v1::PollingRegistryService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  WINNOW_UNARY(RegisterJob, kWrite, handlers_)
  WINNOW_UNARY(BatchRegisterJobs, kWrite, handlers_)
  WINNOW_UNARY(ImportJobs, kWrite, handlers_)
  WINNOW_UNARY(HeartbeatJobs, kWrite, handlers_)
  WINNOW_UNARY(ReportProgress, kWrite, handlers_)
  WINNOW_UNARY(RescheduleJob, kWrite, handlers_)
  WINNOW_UNARY(TransitionJob, kWrite, handlers_)
  WINNOW_UNARY(CompleteJob, kWrite, handlers_)
  WINNOW_UNARY(FailJob, kWrite, handlers_)
  WINNOW_UNARY(ReleaseJob, kWrite, handlers_)
  WINNOW_UNARY(CancelJob, kWrite, handlers_)
  WINNOW_UNARY(RequeueJob, kWrite, handlers_)
  WINNOW_UNARY(BuryJob, kWrite, handlers_)
  WINNOW_UNARY(KickJobs, kWrite, handlers_)
  WINNOW_UNARY(PurgeJobs, kWrite, handlers_)
  WINNOW_UNARY(GetPolicy, kRead, handlers_)
  WINNOW_UNARY(UpdatePolicy, kWrite, handlers_)
  WINNOW_UNARY(PreviewPolicy, kRead, handlers_)
  WINNOW_UNARY(PauseKind, kWrite, handlers_)
  WINNOW_UNARY(ResumeKind, kWrite, handlers_)
  WINNOW_UNARY(GetStats, kRead, handlers_)
  WINNOW_UNARY(GetJob, kRead, handlers_)
  WINNOW_UNARY(ListJobs, kRead, handlers_)
  WINNOW_UNARY(ListJobEvents, kRead, handlers_)
  WINNOW_DEFERRED(ClaimJobs, kWrite, handlers_)
  WINNOW_WATCH(WatchJobs, kRead, handlers_)

 private:
  rpc::Binder binder_;
  Handlers& handlers_;
};

ViewWorker::Options ViewOptions(const Platform& platform) {
  ViewWorker::Options options;
  options.adopt = platform.adopt_redis_keys;
  return options;
}

struct State {
  explicit State(Platform& platform)
      : metrics(platform.metrics),
        store(platform.reads, platform.writes),
        sequencer(platform.logs, EventSequence()),
        claims(store, metrics, {.sequencer = &sequencer, .transport = &platform.transport}),
        watch(store),
        view(platform.redis == nullptr
                 ? nullptr
                 : std::make_unique<ViewWorker>(store, *platform.redis, platform.metrics,
                                                ViewOptions(platform))),
        worker(store, claims, metrics, {}),
        handlers(store, claims, watch, metrics),
        service(platform.runtime, handlers) {}

  void Start() {
    sequencer.Start();
    watch.Start();
    claims.Start();
    worker.Start();
    if (view != nullptr) view->Start();
  }
  void Stop() {
    if (view != nullptr) view->Stop();
    worker.Stop();
    claims.Stop();
    watch.Stop();
    sequencer.Stop();
  }

  JobMetrics metrics;
  JobStore store;
  pg::Sequencer sequencer;
  ClaimWorker claims;
  JobWatch watch;
  std::unique_ptr<ViewWorker> view;  // null: no Redis
  SweepWorker worker;
  Handlers handlers;
  Service service;
};

}  // namespace

rpc::Target MakePollingTarget(Platform& platform) {
  auto state = std::make_shared<State>(platform);
  rpc::Target target;
  target.name = "polling";
  target.service_name = v1::PollingRegistryService::service_full_name();
  target.grpc_service = &state->service;
  target.probes = {{"postgres", [&platform] { return platform.writes.Check(); }}};
  if (state->view != nullptr) {
    target.probes.push_back(
        {"redis_keys", [state = state.get()] { return state->view->CheckKeys(); }, false});
  }
  target.start = [state = state.get()](rpc::Peers&) {
    state->Start();
    return OkStatus();
  };
  target.stop = [state = state.get()] { state->Stop(); };
  target.state = std::move(state);
  platform.transport.AddProducer(kSchema);
  return target;
}

pg::Migrations PollingMigrations() { return StoreMigrations(); }

}  // namespace winnow::polling
