#include "services/polling/api/handlers.h"

// Commands of single jobs: each is checked, made one of the machine's, and done under the job's
// lock.
namespace winnow::polling {
namespace {

constexpr auto kMonth = std::chrono::hours(24 * 30);

template <class Request>
std::optional<Micros> OptionalDelay(const Request& request, Violations& violations) {
  if (!request.has_delay()) return std::nullopt;
  return ToDelay(true, request.delay(), "delay", kMonth, violations);
}

}  // namespace

template <class Response, class Request>
StatusOr<Response> Handlers::Do(const rpc::CallContext& call, const Request& request,
                                const Command& command, Violations& violations) {
  const JobKey key = ToKey(request.kind(), request.id(), violations);
  CheckRequestId(request.request_id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  auto outcome = store_.Do(call.deadline, key, command, request.request_id());
  if (!outcome.ok()) {
    metrics_.CountRefusal(outcome.status());
    return outcome.status();
  }
  if (metrics_.CountEvents(key.kind, outcome->events)) claims_.EventsWritten();
  claims_.JobsChanged();
  outcome->job.payload.clear();
  Response response;
  *response.mutable_job() = ToProto(outcome->job);
  return response;
}

StatusOr<v1::ReportProgressResponse> Handlers::ReportProgress(
    const rpc::CallContext& call, const v1::ReportProgressRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  if (request.percent() < 0 || request.percent() > 100) {
    violations.Add("percent", "must be 0 to 100");
  }
  CheckNote(request.note(), "note", violations);
  const command::Progress progress{request.token(), request.percent(), request.note()};
  return Do<v1::ReportProgressResponse>(call, request, progress, violations);
}

StatusOr<v1::RescheduleJobResponse> Handlers::RescheduleJob(
    const rpc::CallContext& call, const v1::RescheduleJobRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  const command::Reschedule reschedule{request.token(), OptionalDelay(request, violations)};
  return Do<v1::RescheduleJobResponse>(call, request, reschedule, violations);
}

StatusOr<v1::TransitionJobResponse> Handlers::TransitionJob(
    const rpc::CallContext& call, const v1::TransitionJobRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  if (request.to_state().empty()) violations.Add("to_state", "is required: name the next state");
  const command::Transition transition{request.token(), request.to_state(),
                                       OptionalDelay(request, violations)};
  return Do<v1::TransitionJobResponse>(call, request, transition, violations);
}

StatusOr<v1::CompleteJobResponse> Handlers::CompleteJob(const rpc::CallContext& call,
                                                        const v1::CompleteJobRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  if (request.result().size() > kMaxPayload) violations.Add("result", "is over 64 KiB");
  const command::Complete complete{request.token(), request.result()};
  return Do<v1::CompleteJobResponse>(call, request, complete, violations);
}

StatusOr<v1::FailJobResponse> Handlers::FailJob(const rpc::CallContext& call,
                                                const v1::FailJobRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  if (request.error().empty()) violations.Add("error", "is required: say what went wrong");
  CheckNote(request.error(), "error", violations);
  const Micros retry_after = ToDelay(request.has_retry_after(), request.retry_after(),
                                     "retry_after", std::chrono::hours(24), violations);
  const command::Fail fail{request.token(), request.fatal(), request.error(), retry_after};
  return Do<v1::FailJobResponse>(call, request, fail, violations);
}

StatusOr<v1::ReleaseJobResponse> Handlers::ReleaseJob(const rpc::CallContext& call,
                                                      const v1::ReleaseJobRequest& request) {
  Violations violations;
  CheckToken(request.token(), violations);
  return Do<v1::ReleaseJobResponse>(call, request, command::Release{request.token()}, violations);
}

StatusOr<v1::CancelJobResponse> Handlers::CancelJob(const rpc::CallContext& call,
                                                    const v1::CancelJobRequest& request) {
  Violations violations;
  if (request.token() < 0) violations.Add("token", "must not be negative");
  CheckNote(request.note(), "note", violations);
  const bool by_worker = request.token() > 0 && request.actor().empty();
  command::Cancel cancel{std::nullopt, request.note(), ""};
  if (!by_worker) cancel.actor = ToActor(request.actor(), call.caller, violations);
  if (request.token() > 0) cancel.token = request.token();
  return Do<v1::CancelJobResponse>(call, request, cancel, violations);
}

StatusOr<v1::RequeueJobResponse> Handlers::RequeueJob(const rpc::CallContext& call,
                                                      const v1::RequeueJobRequest& request) {
  Violations violations;
  CheckNote(request.note(), "note", violations);
  const command::Requeue command{request.note(), ToActor(request.actor(), call.caller, violations)};
  return Do<v1::RequeueJobResponse>(call, request, command, violations);
}

StatusOr<v1::BuryJobResponse> Handlers::BuryJob(const rpc::CallContext& call,
                                                const v1::BuryJobRequest& request) {
  Violations violations;
  CheckNote(request.note(), "note", violations);
  const command::Bury command{request.note(), ToActor(request.actor(), call.caller, violations)};
  return Do<v1::BuryJobResponse>(call, request, command, violations);
}

}  // namespace winnow::polling
