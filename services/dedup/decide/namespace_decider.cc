#include "services/dedup/decide/namespace_decider.h"

#include <algorithm>
#include <chrono>

#include "services/dedup/policy/policy_store.h"
#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/process/log.h"

namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long a transaction should hold the lock of its log where callers of another instance wait for
// it, and if no other process has written to it for a while.
constexpr milliseconds kLockTime(10);
constexpr milliseconds kLockTimeAlone(30);
constexpr std::chrono::seconds kAloneAfter(5);
constexpr size_t kMinBatch = 100;
// A batch that was halved grows again where it took less than this.
constexpr milliseconds kEasyTime(200);
constexpr size_t kMostBatch = pg::kMaxRowsAppended;
// An urgent document is given back undecided after this long.
constexpr milliseconds kUrgentTime(2'000);
constexpr milliseconds kBulkTime(15'000);
// Transactions that may find the window out of date, one after the other.
constexpr int kRounds = 16;

pg::Stream StreamOf(const std::string& ns) { return {kSchema, ns}; }

// The most that any of these waits, and no more than the worker ever gives.
Deadline DeadlineOf(const std::vector<DecisionJob*>& jobs) {
  Deadline latest = Deadline::min();
  bool is_urgent = false;
  for (const DecisionJob* job : jobs) {
    latest = std::max(latest, job->deadline);
    is_urgent = is_urgent || job->is_urgent;
  }
  return std::min(latest, steady_clock::now() + (is_urgent ? kUrgentTime : kBulkTime));
}

}  // namespace

void NamespaceDecider::Process(std::vector<DecisionJob>& jobs) {
  try {
    DecideAndCheck(jobs);
  } catch (const std::exception& error) {
    // The window's content is unknown now. Callers must not wait forever.
    window_.reset();
    is_current_ = false;
    const Status failed = Internal(std::string("dedup batch of ") + ns_ + ": " + error.what());
    for (DecisionJob& job : jobs) {
      if (!job.is_answered()) Answer(parts_, job, failed);
    }
  }
}

void NamespaceDecider::DecideAndCheck(std::vector<DecisionJob>& jobs) {
  Jobs remembered;
  Jobs checked;
  for (DecisionJob& job : jobs) (job.is_remembered ? remembered : checked).push_back(&job);
  if (!remembered.empty()) Decide(remembered);
  if (!checked.empty() && is_loaded()) Check(checked);
}

void NamespaceDecider::Decide(const Jobs& jobs) {
  const Deadline deadline = DeadlineOf(jobs);
  // What others appended is read before the lock is taken: under it, everybody waits.
  if (has_other_writers()) is_current_ = false;
  Status status;
  for (int round = 0; round < kRounds; ++round) {
    Need need = Need::kNothing;
    status = CatchUp(deadline);
    if (!is_loaded()) return;
    bool is_too_slow = false;
    if (status.ok()) status = DecideOnce(jobs, deadline, need, is_too_slow);
    if (status.ok()) return;
    window_->RollbackPending();
    if (is_too_slow) return HalveOrGiveUp(jobs, status);
    if (need == Need::kNothing) break;
    parts_.metrics.window_retries.Increment();
    is_current_ = false;
    if (need == Need::kReload) return window_.reset();
  }
  for (DecisionJob* job : jobs) Answer(parts_, *job, status);
}

// What is left unanswered comes again.
void NamespaceDecider::HalveOrGiveUp(const Jobs& jobs, const Status& status) {
  if (jobs.size() > 1) {
    batch_limit_ = jobs.size() / 2;
    parts_.metrics.slow_retries.Increment();
    return;
  }
  parts_.metrics.undecidable.Increment();
  log::Error("dedup gives a document up: comparing it takes too long",
             {{"namespace", ns_}, {"document_id", jobs.front()->document.id}});
  Answer(parts_, *jobs.front(), status);
}

Status NamespaceDecider::DecideOnce(const Jobs& jobs, Deadline deadline, Need& need,
                                    bool& is_too_slow) {
  std::optional<DecisionBatch> batch;
  steady_clock::time_point locked;
  const auto body = [&](pg::LogSession& log) -> Status {
    // It may be the second time: what the first one did was rolled back.
    window_->RollbackPending();
    batch.reset();
    locked = steady_clock::now();
    std::optional<Policy> policy = ReadPolicy(log.session(), ns_);
    if (!policy) {
      policy = parts_.initial_policy;
      InsertInitialPolicy(log.session(), ns_, *policy);
    }
    need = FollowLog(log.session(), {log.head(), log.epoch()}, *policy);
    if (need != Need::kNothing) {
      return Unavailable(Reason::kStoreUnavailable,
                         "the window of the namespace is being changed: retry", kLockTime);
    }
    batch.emplace(ns_, jobs, *window_, parts_);
    return batch->Run(log);
  };
  const auto settled = [&](pg::Session& session) -> StatusOr<bool> {
    if (!batch || batch->decided().empty()) return true;
    const LogEntry& first = batch->decided().front().entry;
    return HasEntry(session, ns_, first.seq, first.document_id);
  };
  const auto result = pg::LogTransaction::Run(parts_.logs, StreamOf(ns_), deadline, body, settled);
  is_too_slow = !result.ok() && batch && batch->is_too_slow();
  if (!result.ok()) return result.status();
  // What others appended since, if the commit was settled late, comes after this position.
  window_->CommitPending();
  KeepWithinMemory();
  Adapt(batch->decided().size(), steady_clock::now() - locked);
  if (!batch->decided().empty()) parts_.committed();
  for (const Decided& one : batch->decided()) parts_.metrics.CountDecision(one.decision);
  for (DecisionJob* job : jobs) {
    if (const Decision* decision = batch->DecisionOf(*job)) Answer(parts_, *job, *decision);
  }
  return OkStatus();
}

void NamespaceDecider::Check(const Jobs& jobs) {
  const Deadline deadline = DeadlineOf(jobs);
  StatusOr<std::vector<Decision>> decisions = std::vector<Decision>();
  for (int round = 0; round < kRounds; ++round) {
    Need need = Need::kNothing;
    const Status caught_up = CatchUp(deadline);
    if (!is_loaded()) return;
    if (!caught_up.ok()) {
      decisions = caught_up;
      break;
    }
    decisions = parts_.reads.Statements(
        deadline, [&](pg::Session& session) { return CheckOnce(session, jobs, need); });
    if (need == Need::kNothing) break;
    is_current_ = false;
    if (need == Need::kReload) return window_.reset();
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    Answer(parts_, *jobs[i],
           decisions.ok() ? StatusOr<Decision>((*decisions)[i]) : decisions.status());
  }
}

StatusOr<std::vector<Decision>> NamespaceDecider::CheckOnce(pg::Session& session, const Jobs& jobs,
                                                            Need& need) {
  // Without the lock: what is read is the log up to some commit, and never less than before.
  WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, StreamOf(ns_)));
  need = FollowLog(session, head, ReadPolicy(session, ns_).value_or(parts_.initial_policy));
  if (need != Need::kNothing) {
    return Unavailable(Reason::kStoreUnavailable,
                       "the window of the namespace is being changed: retry", kLockTime);
  }
  std::set<std::string> ids;
  for (const DecisionJob* job : jobs) ids.insert(job->document.id);
  const std::map<std::string, Decision> known = ReadDecisions(session, ns_, ids);
  std::vector<Decision> decisions;
  std::vector<Judgement> judgements(jobs.size());
  std::set<int64_t> seqs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto stored = known.find(jobs[i]->document.id);
    decisions.push_back(stored != known.end() ? stored->second
                                              : JudgeAlone(*jobs[i], judgements[i]));
    AddSeqs(judgements[i], seqs);
  }
  const std::map<int64_t, EntryName> names = ReadNames(session, ns_, seqs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    WINNOW_RETURN_IF_ERROR(AddNames(judgements[i], names, decisions[i]));
  }
  return decisions;
}

Decision NamespaceDecider::JudgeAlone(const DecisionJob& job, Judgement& judged) {
  const Time now = parts_.clock.Now();
  const Time given = std::min(job.document.arrival_time.value_or(now), now);
  const Time arrival = std::max(window_->last_arrival(), given);
  judged = window_->Judge(job.print, job.document.channel, arrival);
  return ToDecision(job, judged, window_->policy(), arrival, now);
}

std::chrono::milliseconds NamespaceDecider::LockTime() const {
  return has_other_writers() ? kLockTime : kLockTimeAlone;
}

bool NamespaceDecider::has_other_writers() const {
  return steady_clock::now() - last_foreign_ < kAloneAfter;
}

void NamespaceDecider::Adapt(size_t documents, steady_clock::duration elapsed) {
  parts_.metrics.batch_seconds.Observe(std::chrono::duration<double>(elapsed).count());
  parts_.metrics.batch_documents.Observe(static_cast<double>(documents));
  if (batch_limit_ < kMinBatch) {  // halved because of what is decided by now, or is given up
    if (elapsed < kEasyTime) batch_limit_ = std::min(kMinBatch, batch_limit_ * 2);
  } else if (elapsed > LockTime()) {
    batch_limit_ = std::max(kMinBatch, batch_limit_ * 4 / 5);
  } else if (documents >= batch_limit_ * 9 / 10) {
    batch_limit_ = std::min(kMostBatch, batch_limit_ + batch_limit_ / 10);
  }
}

}  // namespace winnow::dedup
