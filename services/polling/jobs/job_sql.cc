#include "services/polling/jobs/job_sql.h"

#include "services/platform/events/core/outbox.h"
#include "services/polling/jobs/job.sql.h"
#include "winnow/events/v1/events.pb.h"

namespace winnow::polling {
Job ToJob(const pqxx::row& row) {
  Job job;
  job.key = {row[0].as<std::string>(), row[1].as<std::string>()};
  job.state = row[2].as<std::string>();
  job.phase = static_cast<Phase>(row[3].as<int>());
  job.payload = pg::ToBytes(row[4]);
  job.create_time = pg::ToTime(row[5]);
  job.state_time = pg::ToTime(row[6]);
  job.ready_time = pg::ToTime(row[7]);
  job.entered = pg::ToTime(row[8]);
  job.progressed = pg::ToTime(row[9]);
  job.token = row[10].as<int64_t>();
  job.owner = row[11].as<std::string>();
  job.failures = row[12].as<int>();
  job.losses = row[13].as<int>();
  job.cancel_requested = row[14].as<bool>();
  job.reason = static_cast<StaleReason>(row[15].as<int>());
  job.percent = row[16].as<int>();
  job.note = row[17].as<std::string>();
  job.result = pg::ToBytes(row[18]);
  job.last_request = row[19].as<std::string>();
  return job;
}

NumberedEvent ToEvent(const pqxx::row& row) {
  NumberedEvent event;
  event.number = row[0].as<int64_t>();
  event.time = pg::ToTime(row[1]);
  event.key = {row[2].as<std::string>(), row[3].as<std::string>()};
  event.event.change = static_cast<Change>(row[4].as<int>());
  event.event.reason = static_cast<StaleReason>(row[5].as<int>());
  event.event.from_state = row[6].as<std::string>();
  event.event.to_state = row[7].as<std::string>();
  event.event.phase = static_cast<Phase>(row[8].as<int>());
  event.event.token = row[9].as<int64_t>();
  event.event.owner = row[10].as<std::string>();
  event.event.note = row[11].as<std::string>();
  event.event.request = row[12].as<std::string>();
  event.event.actor = row[13].as<std::string>();
  return event;
}

Policy ToPolicy(const pqxx::row& row, int first) {
  const auto micros = [&](int column) { return Micros(row[first + column].as<int64_t>()); };
  Policy policy;
  policy.states = pg::ToTexts(row[first + 1]);
  const std::vector<std::string> from = pg::ToTexts(row[first + 2]);
  const std::vector<std::string> to = pg::ToTexts(row[first + 3]);
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    policy.transitions.emplace_back(from[i], to[i]);
  }
  policy.lease = micros(4);
  policy.no_progress = micros(5);
  policy.deadline = micros(6);
  policy.sweep_interval = micros(7);
  policy.poll_interval = micros(8);
  policy.backoff_base = micros(9);
  policy.backoff_max = micros(10);
  policy.max_attempts = row[first + 11].as<int>();
  policy.max_losses = row[first + 12].as<int>();
  policy.view_prefix = row[first + 13].as<std::string>();
  policy.retention = micros(14);
  return policy;
}

void KeepPolicies(pg::Session& session) { session.Execute(sql::kKeepPolicies); }

StatusOr<KindNow> ReadKind(pg::Session& session, const std::string& kind) {
  const pqxx::result rows = session.Execute(sql::kReadKind, kind);
  if (rows.empty()) return NotFound("kind", kind);
  KindNow now;
  now.now = pg::ToTime(rows[0][0]);
  now.clock.pause_time = pg::ToOptionalTime(rows[0][1]);
  now.clock.paused = Micros(rows[0][2].as<int64_t>());
  now.version = rows[0][3].as<int64_t>();
  now.policy = ToPolicy(rows[0], 3);
  return now;
}

void AppendStale(pg::Session& session, const std::string& kind, std::span<const StaleJob> jobs,
                 Time now) {
  std::vector<winnow::events::v1::Envelope> envelopes;
  envelopes.reserve(jobs.size());
  for (const StaleJob& job : jobs) {
    envelopes.push_back(events::NewEnvelope(now, kind, ""));
    winnow::events::v1::JobStale& stale = *envelopes.back().mutable_job_stale();
    stale.set_kind(kind);
    stale.set_job_id(job.id);
    stale.set_state(job.state);
    stale.set_reason(NameOf(job.reason));
    stale.set_is_buried(job.is_buried);
    stale.set_owner(job.owner);
    stale.set_token(job.token);
  }
  events::Append(session, "polling", envelopes);
}

void WriteOutcome(pg::Session& session, const Outcome& outcome, Time now) {
  const Job& job = outcome.job;
  session.Execute(sql::kUpdateJob, job.key.kind, job.key.id, job.state, static_cast<int>(job.phase),
                  job.state_time, job.ready_time, job.entered, job.progressed, job.token, job.owner,
                  job.failures, job.losses, job.cancel_requested, static_cast<int>(job.reason),
                  job.percent, job.note, job.last_request);
  if (!job.result.empty()) {
    session.Execute(sql::kSetResult, job.key.kind, job.key.id, pg::ToParameterBytes(job.result));
  }
  std::vector<StaleJob> stale;
  for (const JobEvent& event : outcome.events) {
    session.Execute(sql::kInsertEvent, job.key.kind, job.key.id, now,
                    static_cast<int>(event.change), static_cast<int>(event.reason),
                    event.from_state, event.to_state, static_cast<int>(event.phase), event.token,
                    event.owner, event.note, event.request, event.actor);
    if (event.reason == StaleReason::kNone) continue;
    stale.push_back({job.key.id, event.to_state, event.reason, event.change == Change::kBuried,
                     event.owner, event.token});
  }
  AppendStale(session, job.key.kind, stale, now);
}

}  // namespace winnow::polling
