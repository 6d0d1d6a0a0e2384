#pragma once

#include <string>
#include <vector>

#include "services/collector/api/run_watches.h"
#include "services/collector/quota/credential.h"
#include "services/collector/quota/quota_store.h"
#include "services/collector/runs/schedule_worker.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"
#include "services/platform/grpc/call/call_context.h"
#include "winnow/collector/v1/collector_service.pb.h"

namespace winnow::collector {

// One method per RPC of CollectorService that is about sources; its proto says what each does.
class SourceHandlers {
 public:
  struct Parts {
    SourceStore& sources;
    QuotaStore& quotas;
    const std::vector<Credential>& credentials;
    RunWatches& watches;
    const Clock& clock;
    ScheduleWorker& scheduler;
  };
  explicit SourceHandlers(Parts parts) : parts_(std::move(parts)) {}

  StatusOr<v1::CreateSourceResponse> CreateSource(const rpc::CallContext& call,
                                                  const v1::CreateSourceRequest& request);
  StatusOr<v1::GetSourceResponse> GetSource(const rpc::CallContext& call,
                                            const v1::GetSourceRequest& request);
  StatusOr<v1::UpdateSourceResponse> UpdateSource(const rpc::CallContext& call,
                                                  const v1::UpdateSourceRequest& request);
  StatusOr<v1::DeleteSourceResponse> DeleteSource(const rpc::CallContext& call,
                                                  const v1::DeleteSourceRequest& request);
  StatusOr<v1::ListSourcesResponse> ListSources(const rpc::CallContext& call,
                                                const v1::ListSourcesRequest& request);
  StatusOr<v1::PauseSourceResponse> PauseSource(const rpc::CallContext& call,
                                                const v1::PauseSourceRequest& request);
  StatusOr<v1::ResumeSourceResponse> ResumeSource(const rpc::CallContext& call,
                                                  const v1::ResumeSourceRequest& request);
  StatusOr<v1::RunSourceResponse> RunSource(const rpc::CallContext& call,
                                            const v1::RunSourceRequest& request);
  StatusOr<v1::ListRunsResponse> ListRuns(const rpc::CallContext& call,
                                          const v1::ListRunsRequest& request);
  Status WatchRuns(const rpc::CallContext& call, const v1::WatchRunsRequest& request,
                   const RunWatches::Subscriber& subscriber);
  StatusOr<v1::GetQuotaResponse> GetQuota(const rpc::CallContext& call,
                                          const v1::GetQuotaRequest& request);
  StatusOr<v1::ImportOpmlResponse> ImportOpml(const rpc::CallContext& call,
                                              const v1::ImportOpmlRequest& request);

 private:
  StatusOr<Source> SetState(const rpc::CallContext& call, const std::string& id, SourceState state);

  const Parts parts_;
};

}  // namespace winnow::collector
