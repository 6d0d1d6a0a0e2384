#include "services/polling/api/convert.h"

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::polling {
namespace {

constexpr size_t kMaxName = 128;
constexpr uint8_t kWatchToken = 62;

uint64_t FilterOf(const WatchQuery& query) { return Hash64(query.kind + "/" + query.id); }

bool IsJobId(const std::string& id) {
  const auto fits = [](char c) {
    return IsAsciiAlnum(c) || c == '.' || c == '_' || c == ':' || c == '-';
  };
  return !id.empty() && id.size() <= kMaxName && std::all_of(id.begin(), id.end(), fits);
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f; });
}

void CheckJobId(const std::string& id, const std::string& field, Violations& violations) {
  if (!IsJobId(id)) violations.Add(field, "must be [A-Za-z0-9._:-], 1 to 128 characters");
}

}  // namespace

void CheckKind(const std::string& kind, Violations& violations) {
  if (!IsSlug(kind)) violations.Add("kind", "must be [a-z0-9-], 1 to 64 characters");
}

JobKey ToKey(const std::string& kind, const std::string& id, Violations& violations) {
  CheckKind(kind, violations);
  CheckJobId(id, "id", violations);
  return {kind, id};
}

void CheckToken(int64_t token, Violations& violations) {
  if (token <= 0) violations.Add("token", "is required: send the one that the claim answered");
}

void CheckRequestId(const std::string& request_id, Violations& violations) {
  if (request_id.size() > kMaxName || !IsPrintable(request_id)) {
    violations.Add("request_id", "must be printable ASCII, at most 128 characters");
  }
}

void CheckNote(const std::string& note, const std::string& field, Violations& violations) {
  if (CountCharacters(note) > kMaxNote) violations.Add(field, "is over 1,000 characters");
  if (note.find('\0') != std::string::npos) violations.Add(field, "must hold no NUL");
}

void CheckOwner(const std::string& owner, Violations& violations) {
  if (owner.empty() || owner.size() > kMaxName || !IsPrintable(owner)) {
    violations.Add("owner", "must be printable ASCII, 1 to 128 characters");
  }
}

Micros ToDelay(bool has, const google::protobuf::Duration& delay, const std::string& field,
               Micros most, Violations& violations) {
  if (!has) return Micros(0);
  const StatusOr<Micros> micros = FromDuration(delay);
  if (micros.ok() && *micros >= Micros(0) && *micros <= most) return *micros;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  violations.Add(field, "must be 0 to " + std::to_string(seconds.count()) + " s");
  return Micros(0);
}

NewJob ToNewJob(const v1::NewJob& job, const std::string& field, Violations& violations) {
  NewJob domain;
  domain.id = job.id();
  domain.state = job.state();
  domain.payload = job.payload();
  CheckJobId(job.id(), field + ".id", violations);
  if (!job.state().empty() && !IsSlug(job.state())) {
    violations.Add(field + ".state", "must be [a-z0-9-], 1 to 64 characters");
  }
  if (job.payload().size() > kMaxPayload) violations.Add(field + ".payload", "is over 64 KiB");
  domain.delay = ToDelay(job.has_delay(), job.delay(), field + ".delay",
                         std::chrono::hours(24 * 30), violations);
  return domain;
}

JobToImport ToJobToImport(const v1::InFlightJob& job, const std::string& field,
                          Violations& violations) {
  CheckJobId(job.id(), field + ".id", violations);
  if (!IsSlug(job.state())) {
    violations.Add(field + ".state", "must be [a-z0-9-], 1 to 64 characters");
  }
  if (job.payload().size() > kMaxPayload) violations.Add(field + ".payload", "is over 64 KiB");
  const StatusOr<Time> state_time = FromTimestamp(job.state_time());
  if (!job.has_state_time() || !state_time.ok()) {
    violations.Add(field + ".state_time", "is required: when the job entered its state");
  }
  return {job.id(), job.state(), state_time.ok() ? *state_time : Time(), job.payload()};
}

std::vector<Phase> ToEndedPhases(const v1::PurgeJobsRequest& request, Violations& violations) {
  if (request.phases().empty()) return {Phase::kCompleted, Phase::kFailed, Phase::kCancelled};
  std::vector<Phase> phases;
  for (int i = 0; i < request.phases_size(); ++i) {
    if (request.phases(i) < v1::JOB_PHASE_BURIED || request.phases(i) > v1::JOB_PHASE_CANCELLED) {
      violations.Add("phases[" + std::to_string(i) + "]",
                     "must be BURIED, COMPLETED, FAILED or CANCELLED");
    }
    phases.push_back(static_cast<Phase>(request.phases(i)));
  }
  return phases;
}

std::string ResumeToken(const WatchQuery& query) {
  return MakePageToken(kWatchToken, FilterOf(query), query.after.value_or(0), query.epoch);
}

Status HistoryGone() {
  return InvalidPageToken(
      "it refers to a database history that no longer exists (a failover or restore): list again "
      "without a token");
}

StatusOr<WatchQuery> FromProto(const v1::WatchJobsRequest& request) {
  Violations violations;
  WatchQuery query{request.kind(), request.id(), std::nullopt, ""};
  CheckKind(query.kind, violations);
  if (!query.id.empty()) CheckJobId(query.id, "id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (request.resume_token().empty()) return query;
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.resume_token(), kWatchToken, FilterOf(query),
                                       query.after.emplace(), query.epoch));
  return query;
}

v1::Job ToProto(const Job& job) {
  v1::Job proto;
  proto.set_kind(job.key.kind);
  proto.set_id(job.key.id);
  proto.set_state(job.state);
  proto.set_phase(static_cast<v1::JobPhase>(job.phase));
  proto.set_payload(job.payload);
  *proto.mutable_create_time() = ToTimestamp(job.create_time);
  *proto.mutable_state_time() = ToTimestamp(job.state_time);
  *proto.mutable_ready_time() = ToTimestamp(job.ready_time);
  proto.set_token(job.token);
  proto.set_owner(job.owner);
  proto.set_failures(job.failures);
  proto.set_losses(job.losses);
  proto.set_cancel_requested(job.cancel_requested);
  proto.set_reason(static_cast<v1::StaleReason>(job.reason));
  proto.set_percent(job.percent);
  proto.set_note(job.note);
  proto.set_result(job.result);
  return proto;
}

v1::JobEvent ToProto(const NumberedEvent& event) {
  v1::JobEvent proto;
  proto.set_number(event.number);
  proto.set_kind(event.key.kind);
  proto.set_id(event.key.id);
  *proto.mutable_event_time() = ToTimestamp(event.time);
  proto.set_change(static_cast<v1::JobChange>(event.event.change));
  proto.set_reason(static_cast<v1::StaleReason>(event.event.reason));
  proto.set_from_state(event.event.from_state);
  proto.set_to_state(event.event.to_state);
  proto.set_phase(static_cast<v1::JobPhase>(event.event.phase));
  proto.set_token(event.event.token);
  proto.set_owner(event.event.owner);
  proto.set_note(event.event.note);
  proto.set_request_id(event.event.request);
  proto.set_actor(event.event.actor);
  return proto;
}

}  // namespace winnow::polling
