#include <algorithm>

#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/proto/timestamp.h"
#include "services/polling/api/handlers.h"

// Registering, claiming, reading. Commands of single jobs are beside.
namespace winnow::polling {
namespace {

constexpr int kMaxBatch = 1000;
constexpr size_t kMaxBatchBytes = size_t{32} << 20;
constexpr int kMaxClaim = 100;
constexpr uint8_t kListToken = 60;
constexpr uint8_t kEventsToken = 61;
// An answer must still reach a caller whose deadline is the wait's end.
constexpr std::chrono::milliseconds kAnswerTime(100);

Status CheckBatch(int size, const std::string& field, Violations& violations) {
  if (size < 1 || size > kMaxBatch) {
    violations.Add(field, "has " + std::to_string(size) + " entries: send 1 to 1,000 a call");
  }
  return violations.ToStatus();
}

}  // namespace

StatusOr<v1::RegisterJobResponse> Handlers::RegisterJob(const rpc::CallContext& call,
                                                        const v1::RegisterJobRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckRequestId(request.request_id(), violations);
  if (!request.has_job()) violations.Add("job", "is required: set the job");
  const NewJob job = ToNewJob(request.job(), "job", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(
      auto made, store_.Register(call.deadline, request.kind(), {&job, 1}, request.request_id()));
  WINNOW_RETURN_IF_ERROR(made[0].status());
  if (*made[0]) claims_.JobsChanged();
  v1::RegisterJobResponse response;
  response.set_created(*made[0]);
  WINNOW_ASSIGN_OR_RETURN(const Job stored, store_.Get(call.deadline, {request.kind(), job.id}));
  *response.mutable_job() = polling::ToProto(stored);
  return response;
}

StatusOr<v1::BatchRegisterJobsResponse> Handlers::BatchRegisterJobs(
    const rpc::CallContext& call, const v1::BatchRegisterJobsRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckRequestId(request.request_id(), violations);
  size_t bytes = 0;
  std::vector<NewJob> fit;
  std::vector<Status> refusals;  // OK for those that fit
  std::vector<std::string> ids;
  for (int i = 0; i < request.jobs_size(); ++i) {
    Violations of_job;
    NewJob job = ToNewJob(request.jobs(i), "jobs[" + std::to_string(i) + "]", of_job);
    bytes += job.payload.size();
    ids.push_back(job.id);
    refusals.push_back(of_job.ToStatus());
    if (refusals.back().ok()) fit.push_back(std::move(job));
  }
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    violations.Add("jobs", "names an id twice");
  }
  if (bytes > kMaxBatchBytes) violations.Add("jobs", "have over 32 MiB of payload: send fewer");
  WINNOW_RETURN_IF_ERROR(CheckBatch(request.jobs_size(), "jobs", violations));
  WINNOW_ASSIGN_OR_RETURN(
      auto made, store_.Register(call.deadline, request.kind(), fit, request.request_id()));
  claims_.JobsChanged();
  v1::BatchRegisterJobsResponse response;
  auto next = made.begin();
  for (const Status& refusal : refusals) {
    v1::RegisterJobResult& result = *response.add_results();
    const StatusOr<bool> created = refusal.ok() ? *next++ : StatusOr<bool>(refusal);
    if (created.ok()) {
      result.set_created(*created);
    } else {
      *result.mutable_error() = rpc::ToRpcStatus(created.status(), call.request_id);
    }
  }
  return response;
}

v1::ClaimJobsResponse Handlers::Answer(const ClaimResult& result) {
  metrics_.CountClaim(result.jobs.size());
  v1::ClaimJobsResponse response;
  for (const Job& job : result.jobs) *response.add_jobs() = polling::ToProto(job);
  return response;
}

void Handlers::ClaimJobs(const rpc::CallContext& call, const v1::ClaimJobsRequest& request,
                         rpc::Completion<v1::ClaimJobsResponse> done) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckOwner(request.owner(), violations);
  if (request.max_jobs() < 0 || request.max_jobs() > kMaxClaim) {
    violations.Add("max_jobs", "must be 0 to 100");
  }
  const Micros wait =
      ToDelay(request.has_wait(), request.wait(), "wait", std::chrono::seconds(30), violations);
  if (!violations.empty()) return done(violations.ToStatus());
  const ClaimQuery query{request.kind(), request.owner(), std::max(1, request.max_jobs())};
  const auto begin = std::chrono::steady_clock::now();
  auto result = store_.Claim(call.deadline, query);
  if (!result.ok()) return done(result.status());
  claims_.ReportStale(query.kind, result->stale);
  if (!result->jobs.empty() && call.cancelled()) {
    claims_.GiveBack(query.kind, result->jobs);
    return done(rpc::Cancelled("the client cancelled the call"));
  }
  const Deadline until = std::min(begin + wait, call.deadline - kAnswerTime);
  if (!result->jobs.empty() || until <= std::chrono::steady_clock::now()) {
    return done(Answer(*result));
  }
  claims_.Add({query, until, call.cancelled,
               [done = std::move(done), this](const StatusOr<ClaimResult>& claimed) {
                 if (!claimed.ok()) return done(claimed.status());
                 done(Answer(*claimed));
               }});
}

StatusOr<v1::HeartbeatJobsResponse> Handlers::HeartbeatJobs(
    const rpc::CallContext& call, const v1::HeartbeatJobsRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  std::vector<HeldJob> jobs;
  jobs.reserve(static_cast<size_t>(request.jobs_size()));
  for (int i = 0; i < request.jobs_size(); ++i) {
    const v1::HeldJob& job = request.jobs(i);
    Violations of_job;
    ToKey(request.kind(), job.id(), of_job);
    CheckToken(job.token(), of_job);
    for (const Violation& one : of_job.all()) {
      if (one.field == "kind") continue;
      violations.Add("jobs[" + std::to_string(i) + "]." + one.field, one.description);
    }
    jobs.push_back({job.id(), job.token()});
  }
  WINNOW_RETURN_IF_ERROR(CheckBatch(request.jobs_size(), "jobs", violations));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<HeartbeatResult> beats,
                          store_.Heartbeat(call.deadline, request.kind(), jobs));
  v1::HeartbeatJobsResponse response;
  int64_t lost = 0;
  for (size_t i = 0; i < beats.size(); ++i) {
    v1::HeartbeatResult& result = *response.add_results();
    result.set_id(jobs[i].id);
    result.set_lost(beats[i].lost);
    lost += beats[i].lost;
    if (beats[i].lost) continue;
    result.set_cancel_requested(beats[i].cancel_requested);
    *result.mutable_lease_end_time() = ToTimestamp(beats[i].lease_end);
  }
  metrics_.CountHeartbeats(static_cast<int64_t>(beats.size()), lost);
  return response;
}

StatusOr<v1::GetJobResponse> Handlers::GetJob(const rpc::CallContext& call,
                                              const v1::GetJobRequest& request) {
  Violations violations;
  const JobKey key = ToKey(request.kind(), request.id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const Job job, store_.Get(call.deadline, key));
  return rpc::Respond(&v1::GetJobResponse::mutable_job, polling::ToProto(job));
}

StatusOr<v1::ListJobsResponse> Handlers::ListJobs(const rpc::CallContext& call,
                                                  const v1::ListJobsRequest& request) {
  Violations violations;
  ListQuery query;
  CheckKind(request.kind(), violations);
  query.kind = request.kind();
  query.state = request.state();
  if (!query.state.empty() && !IsSlug(query.state))
    violations.Add("state", "is not a valid state name: use 1 to 64 of a-z, 0-9 and -");
  if (request.phase() != v1::JOB_PHASE_UNSPECIFIED) {
    if (!v1::JobPhase_IsValid(request.phase())) violations.Add("phase", "is not a JobPhase");
    query.phase = static_cast<Phase>(request.phase());
  }
  query.owner = request.owner();
  if (!query.owner.empty()) CheckOwner(query.owner, violations);
  query.min_age = ToDelay(request.has_min_age(), request.min_age(), "min_age",
                          std::chrono::hours(24 * 3650), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 50, 1000));
  const uint64_t filter =
      Hash64(query.kind + "/" + query.state + "/" + std::to_string(request.phase()) + "/" +
             query.owner + "/" + std::to_string(query.min_age.count()));
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kListToken, filter, query.after));
  query.count = size + 1;
  WINNOW_ASSIGN_OR_RETURN(std::vector<Job> jobs, store_.List(call.deadline, query));
  v1::ListJobsResponse response;
  if (TrimPage(jobs, size))
    response.set_next_page_token(MakePageToken(kListToken, filter, jobs.back().key.id));
  for (const Job& job : jobs) *response.add_jobs() = polling::ToProto(job);
  return response;
}

StatusOr<v1::ListJobEventsResponse> Handlers::ListJobEvents(
    const rpc::CallContext& call, const v1::ListJobEventsRequest& request) {
  Violations violations;
  const JobKey key = ToKey(request.kind(), request.id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(key.kind + "/" + key.id);
  int64_t after = 0;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kEventsToken, filter, after));
  WINNOW_ASSIGN_OR_RETURN(std::vector<NumberedEvent> events,
                          store_.ListEvents(call.deadline, key, after, size + 1));
  v1::ListJobEventsResponse response;
  if (TrimPage(events, size))
    response.set_next_page_token(MakePageToken(kEventsToken, filter, events.back().number));
  for (const NumberedEvent& event : events) *response.add_events() = polling::ToProto(event);
  return response;
}

}  // namespace winnow::polling
