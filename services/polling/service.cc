#include "services/polling/service.h"

#include "services/platform/grpc/binder.h"
#include "services/polling/handlers.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

namespace winnow::polling {
namespace {

constexpr char kSchema[] = "polling";

using rpc::Lane;
#define WINNOW_METHOD(Name, lane) \
  constexpr rpc::Method k##Name { "winnow.polling.v1.PollingRegistryService/" #Name, Lane::lane }
WINNOW_METHOD(RegisterJob, kWrite);
WINNOW_METHOD(BatchRegisterJobs, kWrite);
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

 private:
  rpc::Binder binder_;
  Handlers& handlers_;
};

struct State {
  explicit State(Platform& platform)
      : metrics(platform.metrics),
        store(platform.reads, platform.writes),
        claims(store),
        handlers(store, claims, metrics,
                 {.changed = [this] { claims.Wake(); },
                  .told = [&platform] { platform.transport.Wake(kSchema); }}),
        service(platform.runtime, handlers) {}

  JobMetrics metrics;
  Store store;
  ClaimQueue claims;
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
  target.start = [state = state.get()](rpc::Peers&) {
    state->claims.Start();
    return OkStatus();
  };
  target.stop = [state = state.get()] { state->claims.Stop(); };
  target.state = std::move(state);
  platform.transport.AddProducer(kSchema);
  return target;
}

pg::Migrations PollingMigrations() { return StoreMigrations(); }

}  // namespace winnow::polling
