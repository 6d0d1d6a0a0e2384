#pragma once

#include <string>
#include <vector>

#include "services/classification/api/convert.h"
#include "services/classification/api/store_set.h"
#include "services/classification/api/store_watches.h"
#include "services/classification/projection/projection_worker.h"
#include "services/classification/runs/run_worker.h"
#include "services/classification/runs/verdict_metrics.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "services/platform/grpc/call/subscriber.h"
#include "winnow/classification/v1/classification_service.pb.h"

namespace winnow::classification {

// CANCELLED or DEADLINE_EXCEEDED once the caller no longer waits; long computations check it.
Status CheckWanted(const rpc::CallContext& call);

// The request's actor (default: the caller) and note.
template <class Request>
Actor ToActor(const rpc::CallContext& call, const Request& request, Violations& violations) {
  CheckNote(request.note(), violations);
  return {ToActor(request.actor(), call.caller, violations), request.note()};
}

// One method per RPC of ClassificationService; its proto says what each does.
class Handlers {
 public:
  struct Options {
    std::vector<std::string> classifiers = {"embedded", "external"};  // that StartRun may name
    std::string llm_model;
  };
  // `projection` is null if there is no Redis.
  Handlers(StoreSet& stores, RunWorker& worker, ProjectionWorker* projection, StoreWatches& watches,
           VerdictMetrics& metrics, Options options)
      : stores_(stores),
        worker_(worker),
        projection_(projection),
        watches_(watches),
        metrics_(metrics),
        options_(std::move(options)) {}

  WINNOW_HANDLER(ImportComments);
  WINNOW_HANDLER(StartRun);
  WINNOW_HANDLER(ResumeRun);
  WINNOW_HANDLER(GetRun);
  WINNOW_HANDLER(ListRuns);
  WINNOW_HANDLER(CancelRun);
  WINNOW_HANDLER(ActivateRun);
  WINNOW_HANDLER(RollbackRun);
  WINNOW_HANDLER(CompareRuns);
  WINNOW_HANDLER(GetClassification);
  WINNOW_HANDLER(BatchGetClassifications);
  WINNOW_HANDLER(ListClassifications);
  WINNOW_HANDLER(CountClassifications);
  WINNOW_HANDLER(OverrideClassification);
  WINNOW_HANDLER(BulkOverrideClassifications);
  WINNOW_HANDLER(UndoOverride);
  WINNOW_HANDLER(ListOverrideConflicts);
  WINNOW_HANDLER(CreateAppeal);
  WINNOW_HANDLER(GetAppeal);
  WINNOW_HANDLER(ListAppeals);
  WINNOW_HANDLER(ResolveAppeal);
  WINNOW_HANDLER(ClassifyTexts);
  WINNOW_HANDLER(GetPolicy);
  WINNOW_HANDLER(UpdatePolicy);
  WINNOW_HANDLER(PreviewPolicy);
  WINNOW_HANDLER(ListAuditEntries);
  WINNOW_HANDLER(DeleteVideo);
  StatusOr<std::vector<v1::IngestVerdictsResponse>> IngestVerdicts(
      const rpc::CallContext& call, std::span<const v1::IngestVerdictsRequest> requests);
  Status WatchRun(const rpc::CallContext& call, const v1::WatchRunRequest& request,
                  const rpc::Subscriber<v1::WatchRunResponse>& subscriber);
  Status WatchClassifications(const rpc::CallContext& call,
                              const v1::WatchClassificationsRequest& request,
                              const rpc::Subscriber<v1::WatchClassificationsResponse>& subscriber);
  Status ExportClassifications(
      const rpc::CallContext& call, const v1::ExportClassificationsRequest& request,
      const rpc::Subscriber<v1::ExportClassificationsResponse>& subscriber);

 private:
  void WakeProjection() {
    if (projection_ != nullptr) projection_->Wake();
  }
  StatusOr<v1::ImportCommentsResponse> Import(const rpc::CallContext& call, const VideoKey& key,
                                              std::string_view bytes, const std::string& field);
  struct Writing;
  // Answers all messages of the writing.
  void Write(const rpc::CallContext& call, Deadline deadline, const Writing& writing);
  // One try: ABORTED when another version came in between.
  StatusOr<Policy> Update(const rpc::CallContext& call, const v1::UpdatePolicyRequest& request,
                          const PolicyStore::NewPolicy& asked);
  StatusOr<OverrideResult> Override(const rpc::CallContext& call, const OverrideRequest& request);

  StoreSet& stores_;
  RunWorker& worker_;
  ProjectionWorker* const projection_;
  StoreWatches& watches_;
  VerdictMetrics& metrics_;
  const Options options_;
};

}  // namespace winnow::classification
