#include "services/collector/api/source_handlers.h"

#include <algorithm>

#include "services/collector/api/source_convert.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/base/uuid.h"

namespace winnow::collector {
namespace {

constexpr size_t kMaxRequestId = 128;

void CheckSourceId(const std::string& id, Violations& violations) {
  if (!IsSlug(id)) violations.Add("id", "is not a valid source ID: use 1 to 64 of a-z, 0-9 and -");
}
Status CheckSourceId(const std::string& id) {
  Violations violations;
  CheckSourceId(id, violations);
  return violations.ToStatus();
}

void CheckRequestId(const std::string& id, Violations& violations) {
  const bool printable =
      std::all_of(id.begin(), id.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (printable && id.size() <= kMaxRequestId) return;
  violations.Add("request_id", "must be at most 128 printable ASCII characters");
}

// The credential that a source names, if there is one, is of the right vendor. That there is none
// is not an error here: it may be configured where the sources run.
void CheckCredential(const std::vector<Credential>& credentials, const Source& source,
                     Violations& violations) {
  const Credential* found = FindCredential(credentials, source.credential);
  if (found == nullptr || Serves(*found, source.kind)) return;
  violations.Add(std::string("source.") + NameOf(source.kind) + ".credential",
                 std::string("is of vendor ") + NameOf(found->vendor) + ": name another");
}

}  // namespace

StatusOr<v1::CreateSourceResponse> SourceHandlers::CreateSource(
    const rpc::CallContext& call, const v1::CreateSourceRequest& request) {
  if (!request.has_source()) return InvalidField("source", "is required");
  Violations violations;
  Source source = FromProto(request.source(), violations);
  AcceptSource(source, "source", violations);
  CheckCredential(parts_.credentials, source, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(source, parts_.sources.Create(call.deadline, source));
  parts_.scheduler.Wake();
  return rpc::Respond(&v1::CreateSourceResponse::mutable_source, ToProto(source));
}

StatusOr<v1::GetSourceResponse> SourceHandlers::GetSource(const rpc::CallContext& call,
                                                          const v1::GetSourceRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckSourceId(request.id()));
  WINNOW_ASSIGN_OR_RETURN(const Source source, parts_.sources.Get(call.deadline, request.id()));
  return rpc::Respond(&v1::GetSourceResponse::mutable_source, ToProto(source));
}

StatusOr<v1::UpdateSourceResponse> SourceHandlers::UpdateSource(
    const rpc::CallContext& call, const v1::UpdateSourceRequest& request) {
  const std::string& id = request.source().id();
  if (!IsSlug(id))
    return InvalidField("source.id", "is not a valid source ID: use 1 to 64 of a-z, 0-9 and -");
  const auto change = [&](Source& source) -> Status {
    if (!request.source().etag().empty() && request.source().etag() != EtagOf(source)) {
      return Aborted(Reason::kStaleEtag, "the source was changed since: read it again");
    }
    Violations violations;
    const Source sent = FromProto(request.source(), violations);
    const auto interval = source.interval;
    ApplyMask(request.update_mask(), sent, source, violations);
    // Where it has no say it goes with the interval.
    const bool fixed = source.kind != SourceKind::kFeed && source.max_interval == interval;
    if (fixed) source.max_interval = source.interval;
    AcceptSource(source, "source", violations);
    CheckCredential(parts_.credentials, source, violations);
    WINNOW_RETURN_IF_ERROR(violations.ToStatus());
    if (source.interval != interval) source.current_interval = source.interval;
    source.current_interval =
        std::clamp(source.current_interval, source.interval, source.max_interval);
    if (source.state == SourceState::kBlocked) source.state = SourceState::kActive;
    return OkStatus();
  };
  WINNOW_ASSIGN_OR_RETURN(const Source source, parts_.sources.Update(call.deadline, id, change));
  parts_.scheduler.Wake();
  return rpc::Respond(&v1::UpdateSourceResponse::mutable_source, ToProto(source));
}

StatusOr<v1::DeleteSourceResponse> SourceHandlers::DeleteSource(
    const rpc::CallContext& call, const v1::DeleteSourceRequest& request) {
  WINNOW_RETURN_IF_ERROR(CheckSourceId(request.id()));
  WINNOW_ASSIGN_OR_RETURN(const bool deleted, parts_.sources.Delete(call.deadline, request.id()));
  v1::DeleteSourceResponse response;
  response.set_deleted(deleted);
  return response;
}

StatusOr<v1::ListSourcesResponse> SourceHandlers::ListSources(
    const rpc::CallContext& call, const v1::ListSourcesRequest& request) {
  const std::string& ns = request.namespace_();
  Violations violations;
  if (!ns.empty()) CheckNamespace(ns, "namespace", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const KeyPage page, ReadKeyPage(kSourcesToken, ns, request.page_size(),
                                                          request.page_token()));
  if (!page.after.empty() && !IsSlug(page.after)) return InvalidPageToken("it is malformed");
  WINNOW_ASSIGN_OR_RETURN(std::vector<Source> sources,
                          parts_.sources.List(call.deadline, ns, page.after, page.page_size + 1));
  v1::ListSourcesResponse response;
  if (TrimPage(sources, page.page_size))
    response.set_next_page_token(ToKeyToken(kSourcesToken, ns, sources.back().id));
  for (const Source& source : sources) *response.add_sources() = ToProto(source);
  return response;
}

StatusOr<Source> SourceHandlers::SetState(const rpc::CallContext& call, const std::string& id,
                                          SourceState state) {
  WINNOW_RETURN_IF_ERROR(CheckSourceId(id));
  return parts_.sources.Update(call.deadline, id, [&](Source& source) {
    source.state = state;
    if (state == SourceState::kActive) source.failures = 0;
    return OkStatus();
  });
}

StatusOr<v1::PauseSourceResponse> SourceHandlers::PauseSource(
    const rpc::CallContext& call, const v1::PauseSourceRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Source source, SetState(call, request.id(), SourceState::kPaused));
  return rpc::Respond(&v1::PauseSourceResponse::mutable_source, ToProto(source));
}

StatusOr<v1::ResumeSourceResponse> SourceHandlers::ResumeSource(
    const rpc::CallContext& call, const v1::ResumeSourceRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const Source source, SetState(call, request.id(), SourceState::kActive));
  parts_.scheduler.Wake();
  return rpc::Respond(&v1::ResumeSourceResponse::mutable_source, ToProto(source));
}

StatusOr<v1::RunSourceResponse> SourceHandlers::RunSource(const rpc::CallContext& call,
                                                          const v1::RunSourceRequest& request) {
  Violations violations;
  CheckSourceId(request.id(), violations);
  CheckRequestId(request.request_id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  v1::RunSourceResponse response;
  WINNOW_ASSIGN_OR_RETURN(
      *response.mutable_run_id(),
      parts_.sources.RequestRun(call.deadline, request.id(), NewUuidV7(parts_.clock.Now()),
                                request.request_id()));
  parts_.scheduler.Wake();
  return response;
}

StatusOr<v1::ListRunsResponse> SourceHandlers::ListRuns(const rpc::CallContext& call,
                                                        const v1::ListRunsRequest& request) {
  const std::string& source = request.source_id();
  if (!source.empty() && !IsSlug(source)) {
    return InvalidField("source_id", "is not a valid source ID: use 1 to 64 of a-z, 0-9 and -");
  }
  WINNOW_ASSIGN_OR_RETURN(const KeyPage page, ReadKeyPage(kRunsToken, source, request.page_size(),
                                                          request.page_token()));
  if (!page.after.empty() && !IsUuid(page.after)) return InvalidPageToken("it is malformed");
  WINNOW_ASSIGN_OR_RETURN(
      std::vector<Run> runs,
      parts_.sources.ListRuns(call.deadline, {source, page.after, page.page_size + 1}));
  v1::ListRunsResponse response;
  if (TrimPage(runs, page.page_size))
    response.set_next_page_token(ToKeyToken(kRunsToken, source, runs.back().id));
  for (const Run& run : runs) *response.add_runs() = ToProto(run);
  return response;
}

Status SourceHandlers::WatchRuns(const rpc::CallContext& call, const v1::WatchRunsRequest& request,
                                 const RunWatches::Subscriber& subscriber) {
  const std::string& source = request.source_id();
  if (!source.empty() && !IsSlug(source)) {
    return InvalidField("source_id", "is not a valid source ID: use 1 to 64 of a-z, 0-9 and -");
  }
  WINNOW_ASSIGN_OR_RETURN(RunsHead from, parts_.sources.ReadHead(call.deadline));
  if (!request.resume_token().empty()) {
    WINNOW_ASSIGN_OR_RETURN(const RunsHead reached, ReadWatchToken(source, request.resume_token()));
    if (!reached.epoch.empty() && reached.epoch != from.epoch) {
      return HistoryGone();
    }
    from.position = reached.position;
  }
  v1::WatchRunsResponse begin;
  begin.set_resume_token(ToWatchToken(source, from));
  if (!subscriber.Send(std::move(begin))) return OkStatus();
  return parts_.watches.Add(source, std::move(from), subscriber);
}

StatusOr<v1::GetQuotaResponse> SourceHandlers::GetQuota(const rpc::CallContext& call,
                                                        const v1::GetQuotaRequest& request) {
  v1::GetQuotaResponse response;
  for (const Credential& credential : parts_.credentials) {
    if (!request.credential().empty() && request.credential() != credential.name) continue;
    WINNOW_ASSIGN_OR_RETURN(const QuotaState state,
                            parts_.quotas.Read(call.deadline, credential.name));
    *response.add_quotas() = ToProto(credential, state, parts_.clock.Now());
  }
  if (response.quotas().empty() && !request.credential().empty()) {
    return NotFound("credential", request.credential().substr(0, kMaxWord));
  }
  return response;
}

StatusOr<v1::ImportOpmlResponse> SourceHandlers::ImportOpml(const rpc::CallContext& call,
                                                            const v1::ImportOpmlRequest& request) {
  Source example;
  example.id = "example";
  example.ns = request.namespace_();
  example.kind = SourceKind::kFeed;
  example.url = "https://example.com/";
  Violations violations;
  AcceptSource(example, "source", violations);
  StatusOr<Opml> opml = ReadOpml(request.opml());
  if (!violations.empty()) {
    violations = Violations();
    CheckNamespace(example.ns, "namespace", violations);
  }
  if (!opml.ok()) violations.Add("opml", ViolationsOf(opml.status()).at(0).description);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int64_t created,
                          parts_.sources.CreateFeeds(call.deadline, example, opml->feeds,
                                                     request.folders_as_categories()));
  parts_.scheduler.Wake();
  v1::ImportOpmlResponse response;
  response.set_created_count(static_cast<int32_t>(created));
  response.set_known_count(static_cast<int32_t>(opml->feeds.size() + opml->repeated) -
                           static_cast<int32_t>(created));
  response.set_refused_count(static_cast<int32_t>(opml->refused));
  for (RefusedOutline& one : opml->refusals) {
    v1::RefusedOutline& refused = *response.add_refused();
    refused.set_title(std::move(one.title));
    refused.set_url(std::move(one.url));
    refused.set_reason(std::move(one.reason));
  }
  return response;
}

}  // namespace winnow::collector
