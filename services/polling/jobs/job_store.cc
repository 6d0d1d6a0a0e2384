#include "services/polling/jobs/job_store.h"

#include <map>

#include "services/platform/base/embedded_file.h"
#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.sql.h"

namespace winnow::embedded {
extern const std::span<const File> polling_migrations;
}

// Single jobs: commands by the machine, and reads.
namespace winnow::polling {
namespace {

// Those that were there, with their payload.
std::map<std::string, std::string> ReadKnown(pg::Session& session, const std::string& kind,
                                             std::span<const NewJob* const> jobs) {
  std::map<std::string, std::string> known;
  if (jobs.empty()) return known;
  pg::Array ids;
  for (const NewJob* job : jobs) ids.Add(job->id);
  for (const pqxx::row& row : session.Execute(sql::kReadPayloads, kind, ids)) {
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
  for (const pqxx::row& row : session.Execute(sql::kInsertJobs, ids, payloads, states, delays, kind,
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
  return !session.Execute(sql::kWasDone, key.kind, key.id, request, changes).empty();
}

// Whether the rules must still be the same when it commits: its job comes into a state of theirs.
bool ReliesOnStates(const Command& command) {
  return std::holds_alternative<command::Transition>(command) ||
         std::holds_alternative<command::Requeue>(command);
}

Status CheckKind(pg::Session& session, const std::string& kind) {
  if (session.Execute(sql::kKindExists, kind).empty()) return NotFound("kind", kind);
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
    const pqxx::result rows = session.Execute(sql::kLockJob, key.kind, key.id);
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
    const pqxx::result rows = session.Execute(sql::kGetJob, key.kind, key.id);
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
    for (const pqxx::row& row :
         session.Execute(sql::kListJobs, query.kind, query.after, query.state, phase, query.owner,
                         query.min_age.count(), query.count)) {
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
        for (const pqxx::row& row :
             session.Execute(sql::kListJobEvents, key.kind, key.id, after, count)) {
          events.push_back(ToEvent(row));
        }
        if (!events.empty() || after > 0) return events;
        WINNOW_RETURN_IF_ERROR(CheckKind(session, key.kind));
        if (session.Execute(sql::kGetJob, key.kind, key.id).empty()) return NotFound("job", key.id);
        return events;
      });
}

}  // namespace winnow::polling
