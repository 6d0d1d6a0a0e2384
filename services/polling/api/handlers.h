#pragma once

#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "services/polling/api/convert.h"
#include "services/polling/api/job_watch.h"
#include "services/polling/jobs/job_metrics.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/leases/claim_worker.h"
#include "winnow/polling/v1/polling_service.pb.h"

namespace winnow::polling {

// One method per RPC of PollingRegistryService; its proto says what each does.
class Handlers {
 public:
  Handlers(JobStore& store, ClaimWorker& claims, JobWatch& watch, JobMetrics& metrics)
      : store_(store), claims_(claims), watch_(watch), metrics_(metrics) {}

  WINNOW_HANDLER(RegisterJob);
  WINNOW_HANDLER(BatchRegisterJobs);
  WINNOW_HANDLER(ImportJobs);
  WINNOW_HANDLER(HeartbeatJobs);
  WINNOW_HANDLER(ReportProgress);
  WINNOW_HANDLER(RescheduleJob);
  WINNOW_HANDLER(TransitionJob);
  WINNOW_HANDLER(CompleteJob);
  WINNOW_HANDLER(FailJob);
  WINNOW_HANDLER(ReleaseJob);
  WINNOW_HANDLER(CancelJob);
  WINNOW_HANDLER(GetJob);
  WINNOW_HANDLER(ListJobs);
  WINNOW_HANDLER(ListJobEvents);
  WINNOW_HANDLER(RequeueJob);
  WINNOW_HANDLER(BuryJob);
  WINNOW_HANDLER(GetPolicy);
  WINNOW_HANDLER(UpdatePolicy);
  WINNOW_HANDLER(PreviewPolicy);
  WINNOW_HANDLER(PauseKind);
  WINNOW_HANDLER(ResumeKind);
  WINNOW_HANDLER(GetStats);
  WINNOW_HANDLER(KickJobs);
  WINNOW_HANDLER(PurgeJobs);
  void ClaimJobs(const rpc::CallContext& call, const v1::ClaimJobsRequest& request,
                 rpc::Completion<v1::ClaimJobsResponse> done);
  Status WatchJobs(const rpc::CallContext& call, const v1::WatchJobsRequest& request,
                   JobWatch::Subscriber subscriber);

 private:
  v1::ClaimJobsResponse Answer(const ClaimResult& result);
  // A command of one job, whose request was checked but for what all have in common.
  template <class Response, class Request>
  StatusOr<Response> Do(const rpc::CallContext& call, const Request& request,
                        const Command& command, Violations& violations);

  JobStore& store_;
  ClaimWorker& claims_;
  JobWatch& watch_;
  JobMetrics& metrics_;
};

}  // namespace winnow::polling
