#include "services/classification/service.h"

#include "services/classification/handlers.h"
#include "services/classification/service_llm.h"
#include "services/classification/worker.h"
#include "services/classification/worker_projection.h"
#include "services/platform/grpc/binder.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"
#include "services/platform/uuid.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::classification {
namespace {

using rpc::Lane;
#define WINNOW_METHOD(Name, lane)                                       \
  constexpr rpc::Method k##Name {                                       \
    "winnow.classification.v1.ClassificationService/" #Name, Lane::lane \
  }
WINNOW_METHOD(GetRun, kRead);
WINNOW_METHOD(ListRuns, kRead);
WINNOW_METHOD(CompareRuns, kRead);
WINNOW_METHOD(GetClassification, kRead);
WINNOW_METHOD(BatchGetClassifications, kRead);
WINNOW_METHOD(ListClassifications, kRead);
WINNOW_METHOD(CountClassifications, kRead);
WINNOW_METHOD(ListOverrideConflicts, kRead);
WINNOW_METHOD(GetAppeal, kRead);
WINNOW_METHOD(ListAppeals, kRead);
WINNOW_METHOD(ClassifyTexts, kRead);
WINNOW_METHOD(GetPolicy, kRead);
WINNOW_METHOD(PreviewPolicy, kRead);
WINNOW_METHOD(ListAuditEntries, kRead);
WINNOW_METHOD(ImportComments, kWrite);
WINNOW_METHOD(StartRun, kWrite);
WINNOW_METHOD(ResumeRun, kWrite);
WINNOW_METHOD(CancelRun, kWrite);
WINNOW_METHOD(ActivateRun, kWrite);
WINNOW_METHOD(RollbackRun, kWrite);
WINNOW_METHOD(OverrideClassification, kWrite);
WINNOW_METHOD(BulkOverrideClassifications, kWrite);
WINNOW_METHOD(UndoOverride, kWrite);
WINNOW_METHOD(CreateAppeal, kWrite);
WINNOW_METHOD(ResolveAppeal, kWrite);
WINNOW_METHOD(UpdatePolicy, kWrite);
WINNOW_METHOD(DeleteVideo, kWrite);
WINNOW_METHOD(IngestVerdicts, kWrite);
WINNOW_METHOD(WatchRun, kRead);
WINNOW_METHOD(WatchClassifications, kRead);
WINNOW_METHOD(ExportClassifications, kRead);
#undef WINNOW_METHOD

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class Service final : public v1::ClassificationService::CallbackService {
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
  WINNOW_UNARY(ImportComments)
  WINNOW_UNARY(StartRun)
  WINNOW_UNARY(ResumeRun)
  WINNOW_UNARY(CancelRun)
  WINNOW_UNARY(ActivateRun)
  WINNOW_UNARY(RollbackRun)
  WINNOW_UNARY(OverrideClassification)
  WINNOW_UNARY(BulkOverrideClassifications)
  WINNOW_UNARY(UndoOverride)
  WINNOW_UNARY(CreateAppeal)
  WINNOW_UNARY(ResolveAppeal)
  WINNOW_UNARY(UpdatePolicy)
  WINNOW_UNARY(DeleteVideo)
  WINNOW_UNARY(GetRun)
  WINNOW_UNARY(ListRuns)
  WINNOW_UNARY(CompareRuns)
  WINNOW_UNARY(GetClassification)
  WINNOW_UNARY(BatchGetClassifications)
  WINNOW_UNARY(ListClassifications)
  WINNOW_UNARY(CountClassifications)
  WINNOW_UNARY(ListOverrideConflicts)
  WINNOW_UNARY(GetAppeal)
  WINNOW_UNARY(ListAppeals)
  WINNOW_UNARY(ClassifyTexts)
  WINNOW_UNARY(GetPolicy)
  WINNOW_UNARY(PreviewPolicy)
  WINNOW_UNARY(ListAuditEntries)
#undef WINNOW_UNARY

  grpc::ServerBidiReactor<v1::IngestVerdictsRequest, v1::IngestVerdictsResponse>* IngestVerdicts(
      CallbackServerContext* context) override {
    return binder_.Ingest<v1::IngestVerdictsRequest, v1::IngestVerdictsResponse>(
        context, kIngestVerdicts, [this](const rpc::CallContext& call, auto requests) {
          return handlers_.IngestVerdicts(call, requests);
        });
  }

#define WINNOW_WATCH(Name)                                                                        \
  grpc::ServerWriteReactor<v1::Name##Response>* Name(CallbackServerContext* context,              \
                                                     const v1::Name##Request* request) override { \
    return binder_.Watch<v1::Name##Request, v1::Name##Response>(                                  \
        context, request, k##Name,                                                                \
        [this](const rpc::CallContext& call, const v1::Name##Request& r,                          \
               rpc::Subscriber<v1::Name##Response> subscriber) {                                  \
          return handlers_.Name(call, r, std::move(subscriber));                                  \
        });                                                                                       \
  }
  WINNOW_WATCH(WatchRun)
  WINNOW_WATCH(WatchClassifications)
  WINNOW_WATCH(ExportClassifications)
#undef WINNOW_WATCH

 private:
  rpc::Binder binder_;
  Handlers& handlers_;
};

Micros RetentionOf(const config::v1::Classification& config) {
  const auto retention = FromDuration(config.retention());
  return config.has_retention() && retention.ok() ? *retention : std::chrono::days(30);
}

struct State {
  explicit State(Platform& platform)
      : metrics(platform.metrics),
        store(platform.reads, platform.writes, platform.clock,
              RetentionOf(platform.config.classification())),
        policies(store),
        watches(std::chrono::milliseconds(200)),
        projection(platform.redis == nullptr
                       ? nullptr
                       : std::make_unique<Projection>(
                             store, *platform.redis, platform.clock,
                             ProjectionOptions{.adopt = platform.adopt_redis_keys},
                             platform.metrics)),
        llm_status(MakeLlm(platform)),
        worker(store, policies, metrics, WorkerOptions(platform)),
        handlers(store, policies, watches, metrics, HandlerOptions()),
        service(platform.runtime, handlers) {}

  Status MakeLlm(Platform& platform) {
    auto made = MakeLlmClassifier(platform.config.classification().llm(), platform.metrics);
    if (made.ok()) llm = *std::move(made);
    return made.status();
  }
  Worker::Options WorkerOptions(Platform& platform) {
    Worker::Options options;
    options.name = NewUuidV7(platform.clock.Now());
    options.classifiers = {{"embedded", std::make_shared<EmbeddedClassifier>()}};
    if (llm != nullptr) options.classifiers["llm"] = llm;
    options.video_changed = [this](const VideoKey&) { Changed(); };
    options.video_deleted = [this](const VideoKey& video) { Deleted(video); };
    return options;
  }
  Handlers::Options HandlerOptions() {
    Handlers::Options options;
    if (llm != nullptr) {
      options.classifiers.emplace_back("llm");
      options.llm_model = llm->model();
    }
    options.read_redis = [this](Deadline deadline, const std::string& key) {
      return ReadRedis(deadline, key);
    };
    options.run_started = [this] { worker.Wake(); };
    options.run_activated = [this](int64_t run) { worker.Activated(run); };
    options.video_changed = [this](const VideoKey&) { Changed(); };
    options.video_deleted = [this](const VideoKey& video) { Deleted(video); };
    return options;
  }

  StatusOr<std::string> ReadRedis(Deadline deadline, const std::string& key) {
    if (projection != nullptr) return projection->Read(deadline, key);
    return FailedPrecondition("no Redis is set up (redis.url): send raw bytes");
  }
  void Changed() {
    if (projection != nullptr) projection->Wake();
  }
  void Deleted(const VideoKey& video) {
    if (projection == nullptr) return;
    const Status removed = projection->Remove(video);
    if (removed.ok()) return;
    log::Warn("classification: a deleted video stays in Redis until its time is over",
              {{"error", removed.ToString()}});
  }

  VerdictMetrics metrics;
  Store store;
  Policies policies;
  Watches watches;
  std::unique_ptr<Projection> projection;  // null: no Redis
  std::shared_ptr<LlmClassifier> llm;      // null: there is none
  Status llm_status;                       // of its making, told at the start
  Worker worker;
  Handlers handlers;
  Service service;
};

}  // namespace

rpc::Target MakeClassificationTarget(Platform& platform) {
  auto state = std::make_shared<State>(platform);
  rpc::Target target;
  target.name = "classification";
  target.service_name = v1::ClassificationService::service_full_name();
  target.grpc_service = &state->service;
  target.probes = {{"postgres", [&platform] { return platform.writes.Check(); }}};
  if (state->projection != nullptr) {
    target.probes.push_back(
        {"redis_keys", [state = state.get()] { return state->projection->CheckKeys(); }, false});
  }
  target.start = [state = state.get()](rpc::Peers&) {
    WINNOW_RETURN_IF_ERROR(state->llm_status);
    state->watches.Start();
    if (state->projection != nullptr) state->projection->Start();
    state->worker.Start();
    return OkStatus();
  };
  target.stop = [state = state.get()] {
    state->worker.Stop();
    if (state->projection != nullptr) state->projection->Stop();
    state->watches.Stop();
  };
  target.state = std::move(state);
  return target;
}

pg::Migrations ClassificationMigrations() { return StoreMigrations(); }

}  // namespace winnow::classification
