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
#include "services/platform/grpc/call/handler.h"
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

  WINNOW_HANDLER(CreateSource);
  WINNOW_HANDLER(GetSource);
  WINNOW_HANDLER(UpdateSource);
  WINNOW_HANDLER(DeleteSource);
  WINNOW_HANDLER(ListSources);
  WINNOW_HANDLER(PauseSource);
  WINNOW_HANDLER(ResumeSource);
  WINNOW_HANDLER(RunSource);
  WINNOW_HANDLER(ListRuns);
  Status WatchRuns(const rpc::CallContext& call, const v1::WatchRunsRequest& request,
                   const RunWatches::Subscriber& subscriber);
  WINNOW_HANDLER(GetQuota);
  WINNOW_HANDLER(ImportOpml);

 private:
  StatusOr<Source> SetState(const rpc::CallContext& call, const std::string& id, SourceState state);

  const Parts parts_;
};

}  // namespace winnow::collector
