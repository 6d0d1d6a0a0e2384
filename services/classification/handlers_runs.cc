#include <limits>

#include "services/classification/handlers.h"
#include "services/platform/grpc/rpc_status.h"
#include "services/platform/hash.h"
#include "services/platform/page_token.h"
#include "services/platform/text.h"
#include "services/platform/utf8.h"

// Runs and what external agents deliver into them.
namespace winnow::classification {
namespace {

constexpr uint8_t kRunsToken = 41;
constexpr uint8_t kCompareToken = 42;
constexpr int kMaxVerdicts = 1000;
constexpr size_t kMaxRefused = 100;

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
  if (request.model().size() > 128) violations.Add("model", "is over 128 bytes");
  if (!request.model().empty() && classifier != "external") {
    violations.Add("model", "is for external runs: the others know their model");
  }
  if (request.request_id().size() > 64) violations.Add("request_id", "is over 64 bytes");
  CheckNoNul(request.model(), "model", violations);
  CheckNoNul(request.request_id(), "request_id", violations);
  if (request.budget_micros() < 0) violations.Add("budget_micros", "must not be negative");
  if (request.resume_run_id() < 0) violations.Add("resume_run_id", "must not be negative");
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (!classifier.empty() && !Contains(classifiers, classifier)) {
    return FailedPrecondition("classifier " + classifier + " is not set up on this server");
  }
  return OkStatus();
}

void CountOutcomes(std::span<const CommentOutcome> outcomes, VerdictMetrics& metrics) {
  for (const CommentOutcome& one : outcomes) metrics.Count(one.outcome);
}

}  // namespace

StatusOr<v1::StartRunResponse> Handlers::StartRun(const rpc::CallContext& call,
                                                  const v1::StartRunRequest& request) {
  Violations violations;
  NewRun run;
  run.video = ToVideoKey(request.namespace_(), request.video_id(), violations);
  run.policy = ToPolicyName(request.policy(), "policy", violations);
  WINNOW_RETURN_IF_ERROR(CheckStart(request, options_.classifiers, violations));
  v1::StartRunResponse response;
  if (request.resume_run_id() != 0) {
    WINNOW_ASSIGN_OR_RETURN(const Run resumed,
                            store_.ResumeRun(call.deadline, run.video, request.resume_run_id()));
    options_.run_started();
    *response.mutable_run() = ToProto(resumed);
    return response;
  }
  run.classifier = request.classifier().empty() ? "embedded" : request.classifier();
  WINNOW_ASSIGN_OR_RETURN(const auto decider,
                          policies_.Get(call.deadline, run.video.ns, run.policy, 0));
  run.policy_version = decider->policy().version;
  run.model = run.classifier == "embedded" ? decider->model().version()
              : run.classifier == "llm"    ? options_.llm_model
                                           : request.model();
  run.activate = request.activate();
  run.request_id = request.request_id();
  run.budget_micros = request.budget_micros();
  WINNOW_ASSIGN_OR_RETURN(const Run started, store_.StartRun(call.deadline, run));
  options_.run_started();
  *response.mutable_run() = ToProto(started);
  return response;
}

StatusOr<v1::GetRunResponse> Handlers::GetRun(const rpc::CallContext& call,
                                              const v1::GetRunRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(call.deadline, request.run_id()));
  v1::GetRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
}

StatusOr<v1::ListRunsResponse> Handlers::ListRuns(const rpc::CallContext& call,
                                                  const v1::ListRunsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 20, 100));
  const uint64_t filter = Hash64(key.ns + "/" + key.video_id);
  int64_t before = std::numeric_limits<int64_t>::max();
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(auto token,
                            PageTokenReader::Parse(request.page_token(), kRunsToken, filter));
    WINNOW_ASSIGN_OR_RETURN(before, token.ReadNumber());
    WINNOW_RETURN_IF_ERROR(token.Finish());
  }
  WINNOW_ASSIGN_OR_RETURN(std::vector<Run> runs,
                          store_.ListRuns(call.deadline, key, before, size + 1));
  v1::ListRunsResponse response;
  if (runs.size() > static_cast<size_t>(size)) {
    runs.resize(static_cast<size_t>(size));
    response.set_next_page_token(PageTokenWriter(kRunsToken, filter).Add(runs.back().id).Finish());
  }
  for (const Run& run : runs) *response.add_runs() = ToProto(run);
  return response;
}

StatusOr<v1::CancelRunResponse> Handlers::CancelRun(const rpc::CallContext& call,
                                                    const v1::CancelRunRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.CancelRun(call.deadline, request.run_id()));
  v1::CancelRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
}

StatusOr<v1::ActivateRunResponse> Handlers::ActivateRun(const rpc::CallContext& call,
                                                        const v1::ActivateRunRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(call.deadline, request.run_id()));
  WINNOW_ASSIGN_OR_RETURN(const auto decider, policies_.Get(call.deadline, run.video.ns, run.policy,
                                                            run.policy_version));
  WINNOW_ASSIGN_OR_RETURN(
      const Run active,
      store_.ActivateRun(call.deadline, run.id, decider->policy().max_failed_share, call.caller));
  options_.video_changed(run.video);
  options_.run_activated(run.id);
  v1::ActivateRunResponse response;
  *response.mutable_run() = ToProto(active);
  return response;
}

StatusOr<v1::RollbackRunResponse> Handlers::RollbackRun(const rpc::CallContext& call,
                                                        const v1::RollbackRunRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const VideoKey key, ToVideoKey(request.namespace_(), request.video_id()));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.RollbackRun(call.deadline, key, call.caller));
  options_.video_changed(key);
  options_.run_activated(run.id);
  v1::RollbackRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
}

StatusOr<v1::CompareRunsResponse> Handlers::CompareRuns(const rpc::CallContext& call,
                                                        const v1::CompareRunsRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter =
      Hash64(std::to_string(request.run_id()) + "/" + std::to_string(request.base_run_id()));
  std::string after;
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(auto token,
                            PageTokenReader::Parse(request.page_token(), kCompareToken, filter));
    WINNOW_ASSIGN_OR_RETURN(after, token.ReadText());
    WINNOW_RETURN_IF_ERROR(token.Finish());
  }
  WINNOW_ASSIGN_OR_RETURN(Comparison comparison,
                          store_.CompareRuns(call.deadline, request.run_id(), request.base_run_id(),
                                             after, size + 1, after.empty()));
  v1::CompareRunsResponse response;
  if (comparison.changes.size() > static_cast<size_t>(size)) {
    comparison.changes.resize(static_cast<size_t>(size));
    response.set_next_page_token(
        PageTokenWriter(kCompareToken, filter).Add(comparison.changes.back().comment_id).Finish());
  }
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

StatusOr<v1::IngestVerdictsResponse> Handlers::Ingest(const rpc::CallContext& call,
                                                      const v1::IngestVerdictsRequest& request) {
  Violations violations;
  std::vector<v1::Verdict> verdicts(request.verdicts().begin(), request.verdicts().end());
  if (!request.lists().empty()) {
    if (!verdicts.empty()) violations.Add("lists", "must stand without verdicts");
    verdicts = FromLists(request.lists(), violations);
  } else if (verdicts.empty() || request.verdicts_size() > kMaxVerdicts) {
    violations.Add("verdicts", "has " + std::to_string(verdicts.size()) +
                                   " entries: send 1 to 1,000, or lists");
  }
  std::vector<Outcome> outcomes;
  std::vector<std::string> ids;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const std::string at = "verdicts[" + std::to_string(i) + "].";
    outcomes.push_back(FromProto(verdicts[i], at, violations));
    CheckNoNul(verdicts[i].comment_id(), request.lists().empty() ? at + "comment_id" : "lists",
               violations);
    ids.push_back(verdicts[i].comment_id());
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  const Deadline deadline =
      std::min(call.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(deadline, request.run_id()));
  WINNOW_ASSIGN_OR_RETURN(const auto found, store_.FindComments(deadline, run.video, ids));
  v1::IngestVerdictsResponse response;
  std::map<int64_t, size_t> first;  // of the comments of this message
  std::vector<CommentOutcome> known;
  const auto refuse = [&](size_t i, const char* why) {
    if (response.refused_size() >= static_cast<int>(kMaxRefused)) return;
    v1::RefusedVerdict& refused = *response.add_refused();
    refused.set_comment_id(std::string(CutUtf8(ids[i], 128)));
    refused.set_why(why);
  };
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].ambiguous) {
      refuse(i, "the alias is of several comments: use the full id");
    } else if (found[i].number == 0) {
      refuse(i, "no comment of the video has this id");
    } else if (const auto [at, is_new] = first.emplace(found[i].number, i); !is_new) {
      if (outcomes[at->second].status != outcomes[i].status) {
        refuse(i, "it came with another status before: the first one stays");
      }
    } else {
      known.push_back({found[i].number, found[i].content_hash, outcomes[i]});
    }
  }
  WINNOW_ASSIGN_OR_RETURN(const Written written,
                          store_.IngestOutcomes(deadline, request.run_id(), known));
  CountOutcomes(known, metrics_);
  response.set_written(written.written);
  response.set_already_known(written.known);
  response.set_missing_count(written.missing);
  if (written.complete) options_.run_started();  // to be activated
  if (run.active) {
    WINNOW_RETURN_IF_ERROR(store_.RaiseRevision(deadline, run.video));
    options_.video_changed(run.video);
  }
  return response;
}

StatusOr<std::vector<v1::IngestVerdictsResponse>> Handlers::IngestVerdicts(
    const rpc::CallContext& call, std::span<const v1::IngestVerdictsRequest> requests) {
  std::vector<v1::IngestVerdictsResponse> responses;
  for (const v1::IngestVerdictsRequest& request : requests) {
    auto response = Ingest(call, request);
    if (!response.ok()) {
      v1::IngestVerdictsResponse refused;
      *refused.mutable_error() = rpc::ToRpcStatus(response.status(), call.request_id);
      response = std::move(refused);
    }
    responses.push_back(*std::move(response));
  }
  return responses;
}

}  // namespace winnow::classification
