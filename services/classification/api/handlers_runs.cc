#include <limits>

#include "services/classification/api/handlers.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"

// Runs.
namespace winnow::classification {
namespace {

constexpr uint8_t kRunsToken = 41;
constexpr uint8_t kCompareToken = 42;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status CheckStart(const v1::StartRunRequest& request, const std::vector<std::string>& classifiers,
                  Violations& violations) {
  const std::string& classifier = request.classifier();
  if (!classifier.empty() && classifier != "embedded" && classifier != "llm" &&
      classifier != "external") {
    violations.Add("classifier", "must be embedded, llm or external");
  }
  if (CountCharacters(request.model()) > 128) violations.Add("model", "is over 128 characters");
  if (!request.model().empty() && classifier != "external") {
    violations.Add("model", "is for external runs: the others know their model");
  }
  CheckNoNul(request.model(), "model", violations);
  if (request.budget_micros() < 0) violations.Add("budget_micros", "must not be negative");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (!classifier.empty() && !Contains(classifiers, classifier)) {
    return FailedPrecondition("classifier " + classifier + " is not set up on this server");
  }
  return OkStatus();
}

template <class Request>
StatusOr<NumberKey> ToRun(const Request& request, Violations& violations) {
  return ToKey(request.namespace_(), request.run_id(), "run_id", "run", violations);
}

}  // namespace

StatusOr<v1::StartRunResponse> Handlers::StartRun(const rpc::CallContext& call,
                                                  const v1::StartRunRequest& request) {
  Violations violations;
  NewRun run;
  run.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  const PolicyRef policy = ToPolicyRef(request.policy_name(), request.policy_version(), violations);
  run.request = ToRequestKey(run.video.ns, "StartRun", request.request_id(), request, Needed::kYes,
                             violations);
  WINNOW_RETURN_IF_ERROR(CheckStart(request, options_.classifiers, violations));
  run.classifier = request.classifier().empty() ? "embedded" : request.classifier();
  WINNOW_ASSIGN_OR_RETURN(
      const auto decider,
      stores_.cached_policies.Get(call.deadline, run.video.ns, policy.name, policy.version));
  run.policy = policy.name;
  run.policy_version = decider->policy().version;
  run.model = run.classifier == "embedded" ? decider->model().version()
              : run.classifier == "llm"    ? options_.llm_model
                                           : request.model();
  run.activate = request.activate();
  run.budget_micros = request.budget_micros();
  WINNOW_ASSIGN_OR_RETURN(const Run started, stores_.runs.StartRun(call.deadline, run));
  worker_.Wake();
  return rpc::Respond(&v1::StartRunResponse::mutable_run, ToProto(started));
}

StatusOr<v1::ResumeRunResponse> Handlers::ResumeRun(const rpc::CallContext& call,
                                                    const v1::ResumeRunRequest& request) {
  Violations violations;
  if (request.has_budget_micros() && request.budget_micros() < 0) {
    violations.Add("budget_micros", "must not be negative");
  }
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  const int64_t budget = request.has_budget_micros() ? request.budget_micros() : -1;
  WINNOW_ASSIGN_OR_RETURN(const Run run, stores_.runs.ResumeRun(call.deadline, key, budget));
  worker_.Wake();
  return rpc::Respond(&v1::ResumeRunResponse::mutable_run, ToProto(run));
}

StatusOr<v1::GetRunResponse> Handlers::GetRun(const rpc::CallContext& call,
                                              const v1::GetRunRequest& request) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, stores_.runs.GetRun(call.deadline, key));
  return rpc::Respond(&v1::GetRunResponse::mutable_run, ToProto(run));
}

StatusOr<v1::ListRunsResponse> Handlers::ListRuns(const rpc::CallContext& call,
                                                  const v1::ListRunsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 20, 100));
  const uint64_t filter = Hash64(key.ns + "/" + key.video_id);
  int64_t before = std::numeric_limits<int64_t>::max();
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kRunsToken, filter, before));
  WINNOW_ASSIGN_OR_RETURN(std::vector<Run> runs,
                          stores_.runs.ListRuns(call.deadline, key, before, size + 1));
  v1::ListRunsResponse response;
  if (TrimPage(runs, size))
    response.set_next_page_token(MakePageToken(kRunsToken, filter, runs.back().id));
  for (const Run& run : runs) *response.add_runs() = ToProto(run);
  return response;
}

StatusOr<v1::CancelRunResponse> Handlers::CancelRun(const rpc::CallContext& call,
                                                    const v1::CancelRunRequest& request) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, stores_.runs.CancelRun(call.deadline, key));
  return rpc::Respond(&v1::CancelRunResponse::mutable_run, ToProto(run));
}

StatusOr<v1::ActivateRunResponse> Handlers::ActivateRun(const rpc::CallContext& call,
                                                        const v1::ActivateRunRequest& request) {
  Violations violations;
  const Actor speaker = ToActor(call, request, violations);
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run active, stores_.runs.ActivateRun(call.deadline, key, speaker));
  WakeProjection();
  worker_.Activated(active.id);
  return rpc::Respond(&v1::ActivateRunResponse::mutable_run, ToProto(active));
}

StatusOr<v1::RollbackRunResponse> Handlers::RollbackRun(const rpc::CallContext& call,
                                                        const v1::RollbackRunRequest& request) {
  Violations violations;
  const Actor speaker = ToActor(call, request, violations);
  const RequestKey again =
      ToRequestKey(ToNamespace(request.namespace_(), violations), "RollbackRun",
                   request.request_id(), request, Needed::kNo, violations);
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run,
                          stores_.runs.RollbackRun(call.deadline, key, speaker, again));
  WakeProjection();
  worker_.Activated(run.id);
  return rpc::Respond(&v1::RollbackRunResponse::mutable_run, ToProto(run));
}

StatusOr<v1::CompareRunsResponse> Handlers::CompareRuns(const rpc::CallContext& call,
                                                        const v1::CompareRunsRequest& request) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey base, ToKey(request.namespace_(), request.base_run_id(),
                                                      "base_run_id", "run", violations));
  WINNOW_ASSIGN_OR_RETURN(const NumberKey run, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(std::to_string(run.id) + "/" + std::to_string(base.id));
  std::string after;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kCompareToken, filter, after));
  WINNOW_ASSIGN_OR_RETURN(
      Comparison comparison,
      stores_.runs.CompareRuns(call.deadline, run, base.id, after, size + 1, after.empty()));
  v1::CompareRunsResponse response;
  if (TrimPage(comparison.changes, size))
    response.set_next_page_token(
        MakePageToken(kCompareToken, filter, comparison.changes.back().comment_id));
  for (const Comparison::Change& change : comparison.changes) {
    v1::ChangedVerdict& out = *response.add_changes();
    out.set_comment_id(change.comment_id);
    out.set_base_status(ToProto(change.base));
    out.set_status(ToProto(change.status));
  }
  for (const Comparison::Cell& cell : comparison.matrix) {
    v1::ConfusionCell& out = *response.add_matrix();
    out.set_base_status(ToProto(cell.base));
    out.set_status(ToProto(cell.status));
    out.set_count(cell.count);
  }
  return response;
}

}  // namespace winnow::classification
