#include <map>

#include "services/polling/jobs/job_sql.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/jobs/job_store_import.sql.h"

// Jobs that are taken over from another registry. The machine says what each becomes; rows that are
// here already are never touched.
namespace winnow::polling {
namespace {

using Results = std::map<std::string, ImportResult>;  // by id

// Adds those of the jobs that the registry has, where they are.
void AddKnown(pg::Session& session, const std::string& kind, std::span<const Job> jobs,
              Results& results) {
  pg::Array ids;
  for (const Job& job : jobs) ids.Add(job.key.id);
  for (const pqxx::row& row : session.Execute(sql::kReadPlaces, kind, ids)) {
    results.try_emplace(
        row[0].as<std::string>(),
        ImportResult{false, row[1].as<std::string>(), static_cast<Phase>(row[2].as<int>())});
  }
}

void Insert(pg::Session& session, const std::string& kind, std::span<const Job> jobs,
            const ImportNote& note, Time now, Results& results) {
  pg::BinaryArray ids(pg::BinaryArray::kText);
  pg::BinaryArray payloads(pg::BinaryArray::kBytea);
  pg::BinaryArray state_times(pg::BinaryArray::kTimestamptz);
  pg::BinaryArray entered(pg::BinaryArray::kTimestamptz);
  pg::Array states;
  std::map<std::string, const Job*> by_id;
  for (const Job& job : jobs) {
    ids.AddText(job.key.id);
    payloads.AddBytes(job.payload);
    state_times.AddTime(job.state_time);
    entered.AddTime(job.entered);
    states.Add(job.state);
    by_id[job.key.id] = &job;
  }
  for (const pqxx::row& row :
       session.Execute(sql::kImportJobs, ids, payloads, state_times, entered, states, kind, now,
                       note.request, note.note, note.actor)) {
    const Job& job = *by_id.at(row[0].as<std::string>());
    results[job.key.id] = {true, job.state, job.phase};
  }
}

StatusOr<std::vector<StatusOr<ImportResult>>> ImportAll(pg::Session& session,
                                                        const std::string& kind,
                                                        std::span<const JobToImport> jobs,
                                                        const ImportNote& note, bool dry_run) {
  KeepPolicies(session);
  WINNOW_ASSIGN_OR_RETURN(const KindNow now, ReadKind(session, kind));
  std::vector<Job> fit;
  std::vector<Status> checks;
  for (const JobToImport& job : jobs) {
    auto outcome = Import(kind, job, note, Rules{now.policy, now.clock}, now.now);
    checks.push_back(outcome.status());
    if (outcome.ok()) fit.push_back(std::move(outcome->job));
  }
  Results results;
  if (!fit.empty() && !dry_run) Insert(session, kind, fit, note, now.now, results);
  if (results.size() < fit.size()) AddKnown(session, kind, fit, results);
  std::vector<StatusOr<ImportResult>> answers;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!checks[i].ok()) {
      answers.emplace_back(checks[i]);
      continue;
    }
    const auto found = results.find(jobs[i].id);
    // In a dry run what is not here would be created; in any other it was purged meanwhile.
    answers.emplace_back(found != results.end()
                             ? found->second
                             : ImportResult{dry_run, jobs[i].state, Phase::kWaiting});
  }
  return answers;
}

}  // namespace

StatusOr<std::vector<StatusOr<ImportResult>>> JobStore::Import(Deadline deadline,
                                                               const std::string& kind,
                                                               std::span<const JobToImport> jobs,
                                                               const ImportNote& note,
                                                               bool dry_run) {
  return writes_.Transaction(deadline, [&](pg::Session& session) {
    return ImportAll(session, kind, jobs, note, dry_run);
  });
}

}  // namespace winnow::polling
