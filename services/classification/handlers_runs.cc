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
constexpr size_t kMaxVerdicts = 1000;
constexpr int kMaxRefused = 100;

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

void CountOutcomes(std::span<const CommentOutcome> outcomes, VerdictMetrics& metrics) {
  for (const CommentOutcome& one : outcomes) metrics.Count(one.outcome);
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
  WINNOW_ASSIGN_OR_RETURN(const auto decider,
                          policies_.Get(call.deadline, run.video.ns, policy.name, policy.version));
  run.policy = policy.name;
  run.policy_version = decider->policy().version;
  run.model = run.classifier == "embedded" ? decider->model().version()
              : run.classifier == "llm"    ? options_.llm_model
                                           : request.model();
  run.activate = request.activate();
  run.budget_micros = request.budget_micros();
  WINNOW_ASSIGN_OR_RETURN(const Run started, store_.StartRun(call.deadline, run));
  options_.run_started();
  v1::StartRunResponse response;
  *response.mutable_run() = ToProto(started);
  return response;
}

StatusOr<v1::ResumeRunResponse> Handlers::ResumeRun(const rpc::CallContext& call,
                                                    const v1::ResumeRunRequest& request) {
  Violations violations;
  if (request.has_budget_micros() && request.budget_micros() < 0) {
    violations.Add("budget_micros", "must not be negative");
  }
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  const int64_t budget = request.has_budget_micros() ? request.budget_micros() : -1;
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.ResumeRun(call.deadline, key, budget));
  options_.run_started();
  v1::ResumeRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
}

StatusOr<v1::GetRunResponse> Handlers::GetRun(const rpc::CallContext& call,
                                              const v1::GetRunRequest& request) {
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(call.deadline, key));
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
  Violations violations;
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.CancelRun(call.deadline, key));
  v1::CancelRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
}

StatusOr<v1::ActivateRunResponse> Handlers::ActivateRun(const rpc::CallContext& call,
                                                        const v1::ActivateRunRequest& request) {
  Violations violations;
  const Speaker speaker = ToSpeaker(call, request, violations);
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(call.deadline, key));
  WINNOW_ASSIGN_OR_RETURN(const auto decider, policies_.Get(call.deadline, run.video.ns, run.policy,
                                                            run.policy_version));
  WINNOW_ASSIGN_OR_RETURN(
      const Run active,
      store_.ActivateRun(call.deadline, key, decider->policy().max_failed_share, speaker));
  options_.video_changed(run.video);
  options_.run_activated(run.id);
  v1::ActivateRunResponse response;
  *response.mutable_run() = ToProto(active);
  return response;
}

StatusOr<v1::RollbackRunResponse> Handlers::RollbackRun(const rpc::CallContext& call,
                                                        const v1::RollbackRunRequest& request) {
  Violations violations;
  const Speaker speaker = ToSpeaker(call, request, violations);
  const RequestKey again =
      ToRequestKey(ToNamespace(request.namespace_(), violations), "RollbackRun",
                   request.request_id(), request, Needed::kNo, violations);
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.RollbackRun(call.deadline, key, speaker, again));
  options_.video_changed(run.video);
  options_.run_activated(run.id);
  v1::RollbackRunResponse response;
  *response.mutable_run() = ToProto(run);
  return response;
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
  if (!request.page_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(auto token,
                            PageTokenReader::Parse(request.page_token(), kCompareToken, filter));
    WINNOW_ASSIGN_OR_RETURN(after, token.ReadText());
    WINNOW_RETURN_IF_ERROR(token.Finish());
  }
  WINNOW_ASSIGN_OR_RETURN(
      Comparison comparison,
      store_.CompareRuns(call.deadline, run, base.id, after, size + 1, after.empty()));
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

namespace {

// What a message of verdicts says, checked.
struct Delivered {
  std::vector<std::string> ids;
  std::vector<Outcome> outcomes;
};

Delivered ToDelivered(const v1::IngestVerdictsRequest& request, Violations& violations) {
  const bool listed = request.has_lists();
  std::vector<v1::Verdict> verdicts(request.verdicts().verdicts().begin(),
                                    request.verdicts().verdicts().end());
  if (listed) {
    verdicts = FromLists(request.lists(), violations);
  } else if (verdicts.empty() || verdicts.size() > kMaxVerdicts) {
    violations.Add("verdicts.verdicts", "has " + std::to_string(verdicts.size()) +
                                            " entries: send 1 to 1,000, or lists");
    return {};
  }
  Delivered delivered;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    const std::string at = "verdicts.verdicts[" + std::to_string(i) + "].";
    delivered.outcomes.push_back(FromProto(verdicts[i], at, violations));
    CheckNoNul(verdicts[i].comment_id(), listed ? "lists" : at + "comment_id", violations);
    delivered.ids.push_back(verdicts[i].comment_id());
  }
  return delivered;
}

// The verdicts of known comments, once each; what becomes of the others is told in `ingested`.
std::vector<CommentOutcome> Sort(const Delivered& delivered, std::span<const FoundComment> found,
                                 v1::IngestedVerdicts& ingested) {
  std::map<int64_t, size_t> first;  // of the comments of this message
  std::vector<CommentOutcome> known;
  const auto refuse = [&](size_t i, const char* why) {
    ingested.set_refused_count(ingested.refused_count() + 1);
    if (ingested.refused_size() >= kMaxRefused) return;
    v1::RefusedVerdict& refused = *ingested.add_refused();
    refused.set_comment_id(std::string(CutUtf8(delivered.ids[i], 128)));
    refused.set_why(why);
  };
  for (size_t i = 0; i < found.size(); ++i) {
    const Outcome& outcome = delivered.outcomes[i];
    if (found[i].ambiguous) {
      refuse(i, "the alias is of several comments: use the full id");
    } else if (found[i].number == 0) {
      refuse(i, "no comment of the video has this id");
    } else if (const auto [at, is_new] = first.emplace(found[i].number, i); is_new) {
      known.push_back({found[i].number, found[i].content_hash, outcome});
    } else if (delivered.outcomes[at->second].status != outcome.status) {
      refuse(i, "it came with another status before: the first one stays");
    } else {
      ingested.set_repeated_count(ingested.repeated_count() + 1);
    }
  }
  return known;
}

}  // namespace

StatusOr<v1::IngestedVerdicts> Handlers::Ingest(const rpc::CallContext& call,
                                                const v1::IngestVerdictsRequest& request) {
  Violations violations;
  const Delivered delivered = ToDelivered(request, violations);
  WINNOW_ASSIGN_OR_RETURN(const NumberKey key, ToRun(request, violations));
  const Deadline deadline =
      std::min(call.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  WINNOW_ASSIGN_OR_RETURN(const Run run, store_.GetRun(deadline, key));
  WINNOW_ASSIGN_OR_RETURN(const auto found,
                          store_.FindComments(deadline, run.video, delivered.ids));
  v1::IngestedVerdicts ingested;
  const std::vector<CommentOutcome> known = Sort(delivered, found, ingested);
  WINNOW_ASSIGN_OR_RETURN(const Written written,
                          store_.IngestOutcomes(deadline, key, known, call.caller));
  CountOutcomes(known, metrics_);
  ingested.set_written_count(written.written);
  ingested.set_known_count(written.known);
  ingested.set_ignored_count(written.ignored);
  ingested.set_missing_count(written.missing);
  if (written.complete) options_.run_started();  // to be activated
  if (written.active) {
    WINNOW_RETURN_IF_ERROR(store_.RaiseRevision(deadline, run.video));
    options_.video_changed(run.video);
  }
  return ingested;
}

StatusOr<std::vector<v1::IngestVerdictsResponse>> Handlers::IngestVerdicts(
    const rpc::CallContext& call, std::span<const v1::IngestVerdictsRequest> requests) {
  std::vector<v1::IngestVerdictsResponse> responses;
  for (const v1::IngestVerdictsRequest& request : requests) {
    auto ingested = Ingest(call, request);
    v1::IngestVerdictsResponse& response = responses.emplace_back();
    if (ingested.ok()) {
      *response.mutable_ingested() = *std::move(ingested);
    } else {
      *response.mutable_error() = rpc::ToRpcStatus(ingested.status(), call.request_id);
    }
  }
  return responses;
}

}  // namespace winnow::classification
