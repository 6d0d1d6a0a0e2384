
#include "services/polling/api/handlers.h"

// What operators do to many jobs at once, and the watch.
namespace winnow::polling {
namespace {

constexpr int kUsualBatch = 1000;
constexpr int kMostBatch = 10'000;
int ToCount(int requested, Violations& violations) {
  if (requested < 0 || requested > kMostBatch) violations.Add("max_jobs", "must be 0 to 10,000");
  return requested == 0 ? kUsualBatch : requested;
}

template <class Response>
void ShowIds(const std::vector<std::string>& ids, Response& response) {
  for (const std::string& id : ids) response.add_ids(id);
}

}  // namespace

StatusOr<v1::KickJobsResponse> Handlers::KickJobs(const rpc::CallContext& call,
                                                  const v1::KickJobsRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckNote(request.note(), "note", violations);
  if (!v1::StaleReason_IsValid(request.reason())) violations.Add("reason", "is not a StaleReason");
  const int count = ToCount(request.max_jobs(), violations);
  CheckRequestId(request.request_id(), violations);
  const AuditNote note{ToActor(request.actor(), call.caller, violations), request.note(),
                       request.request_id()};
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Touched kicked,
                          store_.Kick(call.deadline, request.kind(),
                                      static_cast<StaleReason>(request.reason()), count, note));
  if (kicked.count > 0) claims_.JobsChanged();
  v1::KickJobsResponse response;
  response.set_kicked_count(kicked.count);
  ShowIds(kicked.ids, response);
  return response;
}

StatusOr<v1::PurgeJobsResponse> Handlers::PurgeJobs(const rpc::CallContext& call,
                                                    const v1::PurgeJobsRequest& request) {
  Violations violations;
  PurgeQuery query;
  CheckKind(request.kind(), violations);
  CheckNote(request.note(), "note", violations);
  query.kind = request.kind();
  query.phases = ToEndedPhases(request, violations);
  if (!request.has_min_age()) {
    violations.Add("min_age", "is required: how long ago they ended, at least");
  }
  query.min_age = ToDelay(request.has_min_age(), request.min_age(), "min_age",
                          std::chrono::hours(24 * 3650), violations);
  query.count = ToCount(request.max_jobs(), violations);
  query.dry_run = request.dry_run();
  CheckRequestId(request.request_id(), violations);
  const AuditNote note{ToActor(request.actor(), call.caller, violations), request.note(),
                       request.request_id()};
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Touched purged, store_.Purge(call.deadline, query, note));
  v1::PurgeJobsResponse response;
  response.set_purged_count(purged.count);
  response.set_dry_run(query.dry_run);
  ShowIds(purged.ids, response);
  return response;
}

Status Handlers::WatchJobs(const rpc::CallContext& call, const v1::WatchJobsRequest& request,
                           JobWatch::Subscriber subscriber) {
  WINNOW_ASSIGN_OR_RETURN(WatchQuery query, FromProto(request));
  WINNOW_RETURN_IF_ERROR(store_.GetPolicy(call.deadline, query.kind, 0).status());
  WINNOW_ASSIGN_OR_RETURN(const HistoryHead head, store_.ReadHead(call.deadline));
  if (!query.epoch.empty() && query.epoch != head.epoch) return HistoryGone();
  return watch_.Add(std::move(query), std::move(subscriber));
}

}  // namespace winnow::polling
