#include <algorithm>

#include "services/platform/grpc/errors/rpc_status.h"
#include "services/polling/api/handlers.h"

// Jobs that are taken over from another registry.
namespace winnow::polling {
namespace {

constexpr int kMaxImport = 1000;
constexpr size_t kMaxImportBytes = size_t{32} << 20;

// What concerns the batch as a whole.
void CheckJobs(const v1::ImportJobsRequest& request, Violations& violations) {
  if (request.jobs_size() < 1 || request.jobs_size() > kMaxImport) {
    violations.Add(
        "jobs", "has " + std::to_string(request.jobs_size()) + " entries: send 1 to 1,000 a call");
    return;
  }
  size_t bytes = 0;
  std::vector<std::string_view> ids;
  for (const v1::InFlightJob& job : request.jobs()) {
    bytes += job.payload().size();
    ids.push_back(job.id());
  }
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end()) {
    violations.Add("jobs", "has an id twice: send distinct ids");
  }
  if (bytes > kMaxImportBytes) {
    violations.Add("jobs", "has over 32 MiB of payload: send fewer jobs a call");
  }
}

}  // namespace

StatusOr<v1::ImportJobsResponse> Handlers::ImportJobs(const rpc::CallContext& call,
                                                      const v1::ImportJobsRequest& request) {
  Violations violations;
  CheckKind(request.kind(), violations);
  CheckRequestId(request.request_id(), violations);
  CheckNote(request.note(), "note", violations);
  CheckJobs(request, violations);
  const ImportNote note{ToActor(request.actor(), call.caller, violations), request.note(),
                        request.request_id()};
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  std::vector<JobToImport> fit;
  std::vector<Status> refusals;  // OK for those that fit
  for (int i = 0; i < request.jobs_size(); ++i) {
    Violations of_job;
    JobToImport job = ToJobToImport(request.jobs(i), "jobs[" + std::to_string(i) + "]", of_job);
    refusals.push_back(of_job.ToStatus());
    if (refusals.back().ok()) fit.push_back(std::move(job));
  }
  WINNOW_ASSIGN_OR_RETURN(const auto imported, store_.Import(call.deadline, request.kind(), fit,
                                                             note, request.dry_run()));
  v1::ImportJobsResponse response;
  ImportCounts counts;
  auto next = imported.begin();
  for (const Status& refusal : refusals) {
    v1::ImportJobResult& result = *response.add_results();
    const StatusOr<ImportResult> one = refusal.ok() ? *next++ : StatusOr<ImportResult>(refusal);
    if (!one.ok()) {
      ++counts.refused;
      *result.mutable_error() = rpc::ToRpcStatus(one.status(), call.request_id);
      continue;
    }
    ++(one->created ? counts.created : counts.present);
    result.set_created(one->created);
    result.set_state(one->state);
    result.set_phase(static_cast<v1::JobPhase>(one->phase));
  }
  if (request.dry_run()) return response;
  metrics_.CountImport(request.kind(), counts);
  if (counts.created > 0) claims_.JobsChanged();
  return response;
}

}  // namespace winnow::polling
