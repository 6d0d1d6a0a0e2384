#include "services/polling/jobs/job_store.h"

#include <map>

#include "services/platform/base/embedded_file.h"
#include "services/polling/jobs/job_sql.h"

namespace winnow::embedded {
extern const std::span<const File> polling_migrations;
}

// Single jobs: commands by the machine, and reads.
namespace winnow::polling {
namespace {

constexpr pg::Statement kLock{"polling.lock_job",
                              "SELECT " WINNOW_JOB_COLUMNS
                              " FROM polling.jobs j WHERE j.kind = $1 AND j.id = $2 "
                              "FOR NO KEY UPDATE"};
// Whether history has the request: $4 has the changes that its command makes. Of its own, for
// it must see what was committed while the other waited for the lock.
constexpr pg::Statement kWasDone{
    "polling.was_done",
    "SELECT 1 FROM polling.job_events e WHERE e.kind = $1 AND e.id = $2 AND e.request = $3 "
    "AND e.change = ANY ($4::smallint[]) LIMIT 1"};
constexpr pg::Statement kGet{"polling.get_job", "SELECT " WINNOW_JOB_COLUMNS
                                                " FROM polling.jobs j "
                                                "WHERE j.kind = $1 AND j.id = $2"};

constexpr pg::Statement kList{
    "polling.list_jobs",
    "SELECT " WINNOW_JOB_COLUMNS_BARE
    " FROM polling.jobs j WHERE j.kind = $1 AND j.id > $2 AND ($3 = '' OR j.state = $3) "
    "AND ($4::smallint = 0 OR j.phase = $4::smallint) AND ($5 = '' OR j.owner = $5) "
    "AND j.state_time <= (SELECT polling.now()) - $6::bigint * interval '1 microsecond' "
    "ORDER BY j.id LIMIT $7"};

constexpr pg::Statement kKindExists{"polling.kind_exists",
                                    "SELECT 1 FROM polling.kinds WHERE kind = $1"};

constexpr pg::Statement kListEvents{"polling.list_job_events",
                                    "SELECT " WINNOW_EVENT_COLUMNS
                                    " FROM polling.job_events WHERE kind = $1 AND id = $2 "
                                    "AND number > $3 ORDER BY number LIMIT $4"};

constexpr pg::Statement kInsertJobs{
    "polling.insert_jobs",
    "WITH u AS MATERIALIZED (SELECT n.id, n.state, n.payload, n.delay, n.place "
    "  FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[]) "
    "  WITH ORDINALITY AS n(id, payload, state, delay, place)), "
    "made AS (INSERT INTO polling.jobs (kind, id, state, phase, payload, create_time, state_time, "
    "  ready_time, entered, progressed) "
    "  SELECT $5, u.id, u.state, 1, u.payload, $6::timestamptz, $6::timestamptz, "
    "  $6::timestamptz + u.delay * interval '1 microsecond', $7::timestamptz, $7::timestamptz "
    "  FROM u ORDER BY u.id ON CONFLICT (kind, id) DO NOTHING RETURNING id, state), "
    "logged AS (INSERT INTO polling.job_events (kind, id, event_time, change, to_state, phase, "
    "  token, request) SELECT $5, m.id, $6::timestamptz, 1, m.state, 1, 0, $8 FROM made m) "
    "SELECT id FROM made"};
constexpr pg::Statement kReadPayloads{
    "polling.read_payloads",
    "SELECT u.id, j.payload FROM unnest($2::text[]) AS u(id) CROSS JOIN LATERAL "
    "(SELECT x.payload FROM polling.jobs x WHERE x.kind = $1 AND x.id = u.id LIMIT 1) j"};

// Those that were there, with their payload.
std::map<std::string, std::string> ReadKnown(pg::Session& session, const std::string& kind,
                                             std::span<const NewJob* const> jobs) {
  std::map<std::string, std::string> known;
  if (jobs.empty()) return known;
  pg::Array ids;
  for (const NewJob* job : jobs) ids.Add(job->id);
  for (const pqxx::row& row : session.Execute(kReadPayloads, kind, ids)) {
    known.emplace(row[0].as<std::string>(), pg::ToBytes(row[1]));
  }
  return known;
}

// Whether each of them is new, by id.
std::map<std::string, bool> Insert(pg::Session& session, const std::string& kind,
                                   const KindNow& now, std::span<const NewJob* const> jobs,
                                   const std::string& request) {
  pg::BinaryArray ids(pg::BinaryArray::kText);
  pg::BinaryArray payloads(pg::BinaryArray::kBytea);
  pg::Array states, delays;
  for (const NewJob* job : jobs) {
    ids.AddText(job->id);
    payloads.AddBytes(job->payload);
    states.Add(job->state.empty() ? now.policy.states.front() : job->state);
    delays.Add(job->delay.count());
  }
  std::map<std::string, bool> created;
  const Time kind_now = now.clock.At(now.now);
  for (const pqxx::row& row : session.Execute(kInsertJobs, ids, payloads, states, delays, kind,
                                              now.now, kind_now, request)) {
    created[row[0].as<std::string>()] = true;
  }
  return created;
}

StatusOr<std::vector<StatusOr<bool>>> RegisterAll(pg::Session& session, const std::string& kind,
                                                  std::span<const NewJob> jobs,
                                                  const std::string& request) {
  KeepPolicies(session);
  WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
  std::vector<const NewJob*> fit;
  for (const NewJob& job : jobs) {
    if (job.state.empty() || HasState(now.policy, job.state)) fit.push_back(&job);
  }
  auto created = Insert(session, kind, now, fit, request);
  std::vector<const NewJob*> there;
  for (const NewJob* job : fit) {
    if (!created.contains(job->id)) there.push_back(job);
  }
  const auto known = ReadKnown(session, kind, there);
  std::vector<StatusOr<bool>> answers;
  for (const NewJob& job : jobs) {
    const auto found = known.find(job.id);
    if (!job.state.empty() && !HasState(now.policy, job.state)) {
      answers.emplace_back(InvalidField("job.state", "is not a state of kind " + kind));
    } else if (created.contains(job.id)) {
      answers.emplace_back(true);
    } else if (found != known.end() && found->second == job.payload) {
      answers.emplace_back(false);
    } else {
      answers.emplace_back(AlreadyExists("job", job.id));
    }
  }
  return answers;
}

// Whether the command, sent before with this request id, left a row of history.
bool WasDone(pg::Session& session, const JobKey& key, const Command& command,
             const std::string& request) {
  const std::vector<Change> rows = ChangesOf(command);
  if (request.empty() || rows.empty()) return false;
  pg::Array changes;
  for (const Change change : rows) changes.Add(static_cast<int>(change));
  return !session.Execute(kWasDone, key.kind, key.id, request, changes).empty();
}

// Whether the rules must still be the same when it commits: its job comes into a state of theirs.
bool ReliesOnStates(const Command& command) {
  return std::holds_alternative<command::Transition>(command) ||
         std::holds_alternative<command::Requeue>(command);
}

Status CheckKind(pg::Session& session, const std::string& kind) {
  if (session.Execute(kKindExists, kind).empty()) return NotFound("kind", kind);
  return OkStatus();
}

}  // namespace

pg::Migrations StoreMigrations() { return {"polling", embedded::polling_migrations}; }

StatusOr<std::vector<StatusOr<bool>>> JobStore::Register(Deadline deadline, const std::string& kind,
                                                         std::span<const NewJob> jobs,
                                                         const std::string& request) {
  return writes_.Transaction(
      deadline, [&](pg::Session& session) { return RegisterAll(session, kind, jobs, request); });
}

StatusOr<Outcome> JobStore::Do(Deadline deadline, const JobKey& key, const Command& command,
                               const std::string& request) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Outcome> {
    const pqxx::result rows = session.Execute(kLock, key.kind, key.id);
    if (rows.empty()) {
      WINNOW_RETURN_IF_ERROR(CheckKind(session, key.kind));
      return NotFound("job", key.id);
    }
    const Job job = ToJob(rows[0]);
    if (WasDone(session, key, command, request)) return Outcome{job, {}};
    if (ReliesOnStates(command)) KeepPolicies(session);
    // The time is taken under the lock.
    WINNOW_ASSIGN_OR_RETURN(const KindNow kind, ReadKind(session, key.kind));
    WINNOW_ASSIGN_OR_RETURN(Outcome outcome,
                            Apply(job, command, request, Rules{kind.policy, kind.clock}, kind.now));
    if (outcome.job != job || !outcome.events.empty()) WriteOutcome(session, outcome, kind.now);
    return outcome;
  });
}

StatusOr<Job> JobStore::Get(Deadline deadline, const JobKey& key) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Job> {
    const pqxx::result rows = session.Execute(kGet, key.kind, key.id);
    if (!rows.empty()) return ToJob(rows[0]);
    WINNOW_RETURN_IF_ERROR(CheckKind(session, key.kind));
    return NotFound("job", key.id);
  });
}

StatusOr<std::vector<Job>> JobStore::List(Deadline deadline, const ListQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<Job>> {
    WINNOW_RETURN_IF_ERROR(CheckKind(session, query.kind));
    std::vector<Job> jobs;
    const int phase = query.phase ? static_cast<int>(*query.phase) : 0;
    for (const pqxx::row& row : session.Execute(kList, query.kind, query.after, query.state, phase,
                                                query.owner, query.min_age.count(), query.count)) {
      jobs.push_back(ToJob(row));
    }
    return jobs;
  });
}

StatusOr<std::vector<NumberedEvent>> JobStore::ListEvents(Deadline deadline, const JobKey& key,
                                                          int64_t after, int count) {
  return reads_.Statements(
      deadline, [&](pg::Session& session) -> StatusOr<std::vector<NumberedEvent>> {
        std::vector<NumberedEvent> events;
        for (const pqxx::row& row : session.Execute(kListEvents, key.kind, key.id, after, count)) {
          events.push_back(ToEvent(row));
        }
        if (!events.empty() || after > 0) return events;
        WINNOW_RETURN_IF_ERROR(CheckKind(session, key.kind));
        if (session.Execute(kGet, key.kind, key.id).empty()) return NotFound("job", key.id);
        return events;
      });
}

}  // namespace winnow::polling
