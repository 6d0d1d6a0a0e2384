#include "services/platform/proto/timestamp.h"
#include "services/polling/api/handlers.h"

// Kinds: rules, pauses, statistics.
namespace winnow::polling {
namespace {

constexpr int kMaxPreviewed = 1000;

}  // namespace

StatusOr<v1::GetPolicyResponse> Handlers::GetPolicy(const rpc::CallContext& call,
                                                    const v1::GetPolicyRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  if (request.version() < 0) violations.Add("version", "must not be negative; 0 is the newest");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const PolicyVersion version,
                          store_.GetPolicy(call.deadline, request.kind(), request.version()));
  return rpc::Respond(&v1::GetPolicyResponse::mutable_policy, ToProto(version));
}

StatusOr<v1::UpdatePolicyResponse> Handlers::UpdatePolicy(const rpc::CallContext& call,
                                                          const v1::UpdatePolicyRequest& request) {
  Violations violations;
  PolicyUpdate update;
  CheckKind(request.kind(), violations);
  CheckRequestId(request.request_id(), violations);
  CheckNote(request.note(), "note", violations);
  update.kind = request.kind();
  update.base = ToBase(request.policy().etag(), violations);
  update.apply = ToChange(request.policy(), request.update_mask(), violations);
  update.actor = ToActor(request.actor(), call.caller, violations);
  update.note = request.note();
  update.request_id = request.request_id();
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const PolicyVersion version, store_.UpdatePolicy(call.deadline, update));
  return rpc::Respond(&v1::UpdatePolicyResponse::mutable_policy, ToProto(version));
}

StatusOr<v1::PreviewPolicyResponse> Handlers::PreviewPolicy(
    const rpc::CallContext& call, const v1::PreviewPolicyRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  const PolicyChange change = ToChange(request.policy(), request.update_mask(), violations);
  if (request.max_ids() < 0 || request.max_ids() > kMaxPreviewed) {
    violations.Add("max_ids", "must be 0 to 1,000");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  const int most_ids = request.max_ids() == 0 ? 100 : request.max_ids();
  WINNOW_ASSIGN_OR_RETURN(const PolicyVersion now,
                          store_.GetPolicy(call.deadline, request.kind(), 0));
  const Policy after = change(now.policy);
  Validate(after, "policy.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  v1::PreviewPolicyResponse response;
  *response.mutable_policy() =
      ToProto(PolicyVersion{request.kind(), now.version + 1, after, "", "", {}});
  WINNOW_ASSIGN_OR_RETURN(const auto sweeps,
                          store_.PreviewPolicy(call.deadline, request.kind(), after, most_ids));
  for (const WouldSweep& sweep : sweeps) {
    *response.add_sweeps() = ToProto(sweep);
    response.set_would_sweep_count(response.would_sweep_count() + sweep.count);
  }
  WINNOW_ASSIGN_OR_RETURN(const auto without,
                          store_.PreviewPolicy(call.deadline, request.kind(), now.policy, 0));
  for (const WouldSweep& sweep : without) {
    response.set_would_sweep_unchanged_count(response.would_sweep_unchanged_count() + sweep.count);
  }
  return response;
}

StatusOr<v1::PauseKindResponse> Handlers::PauseKind(const rpc::CallContext& call,
                                                    const v1::PauseKindRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckNote(request.note(), "note", violations);
  const std::string actor = ToActor(request.actor(), call.caller, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const KindClock clock, store_.SetPaused(call.deadline, request.kind(),
                                                                  true, actor, request.note()));
  return rpc::Respond(&v1::PauseKindResponse::mutable_pause_time, ToTimestamp(*clock.pause_time));
}

StatusOr<v1::ResumeKindResponse> Handlers::ResumeKind(const rpc::CallContext& call,
                                                      const v1::ResumeKindRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckNote(request.note(), "note", violations);
  const std::string actor = ToActor(request.actor(), call.caller, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const KindClock clock, store_.SetPaused(call.deadline, request.kind(),
                                                                  false, actor, request.note()));
  claims_.JobsChanged();
  return rpc::Respond(&v1::ResumeKindResponse::mutable_total_paused, ToDuration(clock.paused));
}

StatusOr<v1::GetStatsResponse> Handlers::GetStats(const rpc::CallContext& call,
                                                  const v1::GetStatsRequest& request) {
  Violations violations;
  if (!request.kind().empty()) CheckKind(request.kind(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  std::vector<std::string> kinds = {request.kind()};
  if (request.kind().empty()) {
    kinds.clear();
    WINNOW_ASSIGN_OR_RETURN(const auto all, store_.ListKinds(call.deadline));
    for (const KindToSweep& each : all) kinds.push_back(each.kind);
  }
  v1::GetStatsResponse response;
  for (const std::string& kind : kinds) {
    WINNOW_ASSIGN_OR_RETURN(const KindStats stats, store_.GetStats(call.deadline, kind, true));
    *response.add_kinds() = ToProto(stats);
  }
  return response;
}

}  // namespace winnow::polling
