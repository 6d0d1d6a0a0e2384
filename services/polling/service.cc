#include "services/polling/service.h"

#include "services/platform/grpc/binder.h"
#include "services/polling/handlers.h"
#include "services/polling/worker.h"
#include "services/polling/worker_view.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::polling {
namespace {

constexpr char kSchema[] = "polling";

using rpc::Lane;
#define WINNOW_METHOD(Name, lane) \
  constexpr rpc::Method k##Name { "winnow.polling.v1.PollingRegistryService/" #Name, Lane::lane }
WINNOW_METHOD(RegisterJob, kWrite);
WINNOW_METHOD(BatchRegisterJobs, kWrite);
WINNOW_METHOD(ImportJobs, kWrite);
WINNOW_METHOD(ClaimJobs, kWrite);
WINNOW_METHOD(HeartbeatJobs, kWrite);
WINNOW_METHOD(ReportProgress, kWrite);
WINNOW_METHOD(RescheduleJob, kWrite);
WINNOW_METHOD(TransitionJob, kWrite);
WINNOW_METHOD(CompleteJob, kWrite);
WINNOW_METHOD(FailJob, kWrite);
WINNOW_METHOD(ReleaseJob, kWrite);
WINNOW_METHOD(CancelJob, kWrite);
WINNOW_METHOD(RequeueJob, kWrite);
WINNOW_METHOD(BuryJob, kWrite);
WINNOW_METHOD(KickJobs, kWrite);
WINNOW_METHOD(PurgeJobs, kWrite);
WINNOW_METHOD(WatchJobs, kRead);
WINNOW_METHOD(UpdatePolicy, kWrite);
WINNOW_METHOD(PauseKind, kWrite);
WINNOW_METHOD(ResumeKind, kWrite);
WINNOW_METHOD(GetPolicy, kRead);
WINNOW_METHOD(PreviewPolicy, kRead);
WINNOW_METHOD(GetStats, kRead);
WINNOW_METHOD(GetJob, kRead);
WINNOW_METHOD(ListJobs, kRead);
WINNOW_METHOD(ListJobEvents, kRead);
#undef WINNOW_METHOD

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class Service final : public v1::PollingRegistryService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

// The same for all: the handler of the same name.
#define WINNOW_UNARY(Name)                                                                   \
  ServerUnaryReactor* Name(CallbackServerContext* context, const v1::Name##Request* request, \
                           v1::Name##Response* response) override {                          \
    return binder_.Unary(context, request, response, k##Name,                                \
                         [this](const rpc::CallContext& call, const v1::Name##Request& r) {  \
                           return handlers_.Name(call, r);                                   \
                         });                                                                 \
  }
  WINNOW_UNARY(RegisterJob)
  WINNOW_UNARY(BatchRegisterJobs)
  WINNOW_UNARY(ImportJobs)
  WINNOW_UNARY(HeartbeatJobs)
  WINNOW_UNARY(ReportProgress)
  WINNOW_UNARY(RescheduleJob)
  WINNOW_UNARY(TransitionJob)
  WINNOW_UNARY(CompleteJob)
  WINNOW_UNARY(FailJob)
  WINNOW_UNARY(ReleaseJob)
  WINNOW_UNARY(CancelJob)
  WINNOW_UNARY(RequeueJob)
  WINNOW_UNARY(BuryJob)
  WINNOW_UNARY(KickJobs)
  WINNOW_UNARY(PurgeJobs)
  WINNOW_UNARY(GetPolicy)
  WINNOW_UNARY(UpdatePolicy)
  WINNOW_UNARY(PreviewPolicy)
  WINNOW_UNARY(PauseKind)
  WINNOW_UNARY(ResumeKind)
  WINNOW_UNARY(GetStats)
  WINNOW_UNARY(GetJob)
  WINNOW_UNARY(ListJobs)
  WINNOW_UNARY(ListJobEvents)
#undef WINNOW_UNARY

  ServerUnaryReactor* ClaimJobs(CallbackServerContext* context, const v1::ClaimJobsRequest* request,
                                v1::ClaimJobsResponse* response) override {
    return binder_.Deferred(context, request, response, kClaimJobs,
                            [this](const rpc::CallContext& call, const v1::ClaimJobsRequest& r,
                                   rpc::Completion<v1::ClaimJobsResponse> done) {
                              handlers_.ClaimJobs(call, r, std::move(done));
                            });
  }

  grpc::ServerWriteReactor<v1::WatchJobsResponse>* WatchJobs(
      CallbackServerContext* context, const v1::WatchJobsRequest* request) override {
    return binder_.Watch<v1::WatchJobsRequest, v1::WatchJobsResponse>(
        context, request, kWatchJobs,
        [this](const rpc::CallContext& call, const v1::WatchJobsRequest& r,
               JobWatch::Subscriber subscriber) {
          return handlers_.WatchJobs(call, r, std::move(subscriber));
        });
  }

 private:
  rpc::Binder binder_;
  Handlers& handlers_;
};

View::Options ViewOptions(const Platform& platform) {
  View::Options options;
  options.adopt = platform.adopt_redis_keys;
  return options;
}

struct State {
  explicit State(Platform& platform)
      : metrics(platform.metrics),
        store(platform.reads, platform.writes),
        claims(store, [this](const std::string& kind,
                             std::span<const StaleJob> stale) { handlers.TellStale(kind, stale); }),
        watch(store),
        sequencer(platform.logs, EventSequence()),
        view(platform.redis == nullptr
                 ? nullptr
                 : std::make_unique<View>(store, *platform.redis, platform.metrics,
                                          ViewOptions(platform))),
        worker(store, metrics,
               {.swept =
                    [this, &platform] {
                      Changed();
                      platform.transport.Wake(kSchema);
                    }}),
        handlers(store, claims, watch, metrics,
                 {.changed = [this] { Changed(); },
                  .told = [&platform] { platform.transport.Wake(kSchema); }}),
        service(platform.runtime, handlers) {}

  void Changed() {
    claims.Wake();
    sequencer.Wake();
  }
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
  Store store;
  ClaimQueue claims;
  JobWatch watch;
  pg::Sequencer sequencer;
  std::unique_ptr<View> view;  // null: no Redis
  Worker worker;
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
