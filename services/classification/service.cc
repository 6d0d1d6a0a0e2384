#include "services/classification/service.h"

#include "services/classification/api/handlers.h"
#include "services/classification/config.h"
#include "services/classification/projection/projection_worker.h"
#include "services/classification/runs/run_worker.h"
#include "services/platform/base/embedded_file.h"
#include "services/platform/base/uuid.h"
#include "services/platform/grpc/call/bind_methods.h"
#include "services/platform/process/log.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::embedded {
extern const std::span<const File> classification_migrations;
}

namespace winnow::classification {
namespace {

#define WINNOW_SERVICE "winnow.classification.v1.ClassificationService"

class Service final : public v1::ClassificationService::CallbackService {
 public:
  Service(rpc::Runtime& runtime, Handlers& handlers) : binder_(runtime), handlers_(handlers) {}

  WINNOW_UNARY(ImportComments, kWrite, handlers_)
  WINNOW_UNARY(StartRun, kWrite, handlers_)
  WINNOW_UNARY(ResumeRun, kWrite, handlers_)
  WINNOW_UNARY(CancelRun, kWrite, handlers_)
  WINNOW_UNARY(ActivateRun, kWrite, handlers_)
  WINNOW_UNARY(RollbackRun, kWrite, handlers_)
  WINNOW_UNARY(OverrideClassification, kWrite, handlers_)
  WINNOW_UNARY(BulkOverrideClassifications, kWrite, handlers_)
  WINNOW_UNARY(UndoOverride, kWrite, handlers_)
  WINNOW_UNARY(CreateAppeal, kWrite, handlers_)
  WINNOW_UNARY(ResolveAppeal, kWrite, handlers_)
  WINNOW_UNARY(UpdatePolicy, kWrite, handlers_)
  WINNOW_UNARY(DeleteVideo, kWrite, handlers_)
  WINNOW_UNARY(GetRun, kRead, handlers_)
  WINNOW_UNARY(ListRuns, kRead, handlers_)
  WINNOW_UNARY(CompareRuns, kRead, handlers_)
  WINNOW_UNARY(GetClassification, kRead, handlers_)
  WINNOW_UNARY(BatchGetClassifications, kRead, handlers_)
  WINNOW_UNARY(ListClassifications, kRead, handlers_)
  WINNOW_UNARY(CountClassifications, kRead, handlers_)
  WINNOW_UNARY(ListOverrideConflicts, kRead, handlers_)
  WINNOW_UNARY(GetAppeal, kRead, handlers_)
  WINNOW_UNARY(ListAppeals, kRead, handlers_)
  WINNOW_UNARY(ClassifyTexts, kRead, handlers_)
  WINNOW_UNARY(GetPolicy, kRead, handlers_)
  WINNOW_UNARY(PreviewPolicy, kRead, handlers_)
  WINNOW_UNARY(ListAuditEntries, kRead, handlers_)
  WINNOW_INGEST(IngestVerdicts, kWrite, handlers_)
  WINNOW_WATCH(WatchRun, kRead, handlers_)
  WINNOW_WATCH(WatchClassifications, kRead, handlers_)
  WINNOW_WATCH(ExportClassifications, kRead, handlers_)

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
        stores(platform.reads, platform.writes, platform.clock,
               RetentionOf(platform.config.classification())),
        watches(std::chrono::milliseconds(200)),
        projection(platform.redis == nullptr
                       ? nullptr
                       : std::make_unique<ProjectionWorker>(
                             stores.projections, stores.verdicts, *platform.redis, platform.clock,
                             ProjectionOptions{.adopt = platform.adopt_redis_keys},
                             platform.metrics)),
        llm_status(MakeLlm(platform)),
        worker({stores.leases, stores.runs, stores.comments, stores.requests,
                stores.cached_policies, metrics, projection.get()},
               WorkerOptions(platform)),
        handlers(stores, worker, projection.get(), watches, metrics, HandlerOptions()),
        service(platform.runtime, handlers) {}

  Status MakeLlm(Platform& platform) {
    auto made = MakeLlmClassifier(platform.config.classification().llm(), platform.metrics);
    if (!made.ok()) return made.status();
    llm = *std::move(made);
    return OkStatus();
  }
  RunWorker::Options WorkerOptions(Platform& platform) {
    RunWorker::Options options;
    options.name = NewUuidV7(platform.clock.Now());
    options.classifiers = {{"embedded", std::make_shared<EmbeddedClassifier>()}};
    if (llm != nullptr) options.classifiers["llm"] = llm;
    return options;
  }
  Handlers::Options HandlerOptions() {
    Handlers::Options options;
    if (llm != nullptr) {
      options.classifiers.emplace_back("llm");
      options.llm_model = llm->model();
    }
    return options;
  }

  VerdictMetrics metrics;
  StoreSet stores;
  StoreWatches watches;
  std::unique_ptr<ProjectionWorker> projection;  // null: no Redis
  std::shared_ptr<LlmClassifier> llm;            // null: there is none
  Status llm_status;                             // of its making, returned at the start
  RunWorker worker;
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

pg::Migrations ClassificationMigrations() {
  return {"classification", embedded::classification_migrations};
}

}  // namespace winnow::classification
