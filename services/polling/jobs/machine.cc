#include "services/polling/jobs/machine.h"

#include <algorithm>

#include "services/polling/jobs/job_records.h"

namespace winnow::polling {
namespace {

Status StaleToken(const Job& job) {
  return FailedPrecondition(
      "the token is stale: job " + job.key.id +
          (job.phase == Phase::kLeased ? " was claimed by another worker since"
                                       : " is no longer leased to this worker") +
          "; drop it and claim again",
      Reason::kStaleToken);
}

Status Forbidden(const Job& job, const std::string& what) {
  return FailedPrecondition("job " + job.key.id + " is " + NameOf(job.phase) + ": " + what);
}

// Applies one command to a copy of the job.
class Step {
 public:
  Step(const Job& job, const std::string& request, const Rules& rules, Time now)
      : outcome_{job, {}},
        job_(outcome_.job),
        request_(request),
        rules_(rules),
        policy_(rules.policy),
        now_(now),
        kind_now_(rules.clock.At(now)) {}

  Status Do(const command::Heartbeat&) {
    Extend();
    return OkStatus();
  }
  Status Do(const command::Progress& progress) {
    Extend();
    MarkProgress();
    job_.percent = progress.percent;
    job_.note = progress.note;
    return OkStatus();
  }
  Status Do(const command::Reschedule& reschedule) {
    GoodPoll();
    Wait(reschedule.delay.value_or(PollDelay(policy_, job_.key.id, job_.token)));
    return OkStatus();
  }
  Status Do(const command::Transition& transition) {
    if (!HasState(policy_, transition.to)) {
      return InvalidField("to_state", "is not a state of kind " + job_.key.kind);
    }
    if (!MayTransition(policy_, job_.state, transition.to)) {
      return Forbidden(job_,
                       "its kind allows no transition from " + job_.state + " to " + transition.to);
    }
    Add(Change::kTransitioned).to_state = transition.to;
    job_.state = transition.to;
    job_.state_time = now_;
    job_.entered = kind_now_;
    GoodPoll();
    if (transition.delay) {
      Wait(*transition.delay);
    } else {
      Extend();
    }
    return OkStatus();
  }
  Status Do(const command::Complete& complete) {
    Add(Change::kCompleted);
    job_.result = complete.result;
    job_.percent = 100;
    End(Phase::kCompleted);
    return OkStatus();
  }
  Status Do(const command::Fail& fail) {
    job_.note = fail.error;
    if (fail.fatal) {
      Add(Change::kFailed).note = fail.error;
      End(Phase::kFailed);
      return OkStatus();
    }
    ++job_.failures;
    if (job_.failures >= policy_.max_attempts) {
      GiveUp(StaleReason::kMaxAttempts, fail.error);
      return OkStatus();
    }
    Add(Change::kAttemptFailed).note = fail.error;
    Wait(std::max(fail.retry_after, Backoff(policy_, job_.key.id, job_.failures)));
    return OkStatus();
  }
  Status Do(const command::Release&) {
    Wait(Micros(0));
    return OkStatus();
  }
  Status Do(const command::Cancel& cancel) {
    if (!IsInFlight(job_.phase)) return Forbidden(job_, "only a job in flight can be cancelled");
    if (job_.phase == Phase::kLeased && !cancel.token) {
      if (job_.cancel_requested) return OkStatus();
      Say(Add(Change::kCancelRequested), cancel);
      job_.cancel_requested = true;
      return OkStatus();
    }
    Say(Add(Change::kCancelled), cancel);
    End(Phase::kCancelled);
    return OkStatus();
  }

  Status Do(const command::Claim& claim) {
    if (!IsInFlight(job_.phase) || job_.ready_time > now_ || rules_.clock.is_paused()) {
      return OkStatus();
    }
    if (job_.phase == Phase::kLeased) Lose(StaleReason::kLeaseLost);
    if (job_.phase != Phase::kWaiting) return OkStatus();
    if (claim.token <= job_.token) return Internal("a claim's token must grow");
    job_.phase = Phase::kLeased;
    job_.token = claim.token;
    job_.owner = claim.owner;
    job_.ready_time = now_ + policy_.lease;
    MarkProgress();
    return OkStatus();
  }
  Status Do(const command::Sweep&) {
    if (!IsInFlight(job_.phase)) return OkStatus();
    if (job_.entered + policy_.deadline <= kind_now_) {
      GiveUp(StaleReason::kDeadline, "");
    } else if (job_.phase == Phase::kLeased && job_.ready_time <= now_) {
      Lose(StaleReason::kLeaseLost);
    } else if (job_.phase == Phase::kLeased && job_.progressed + policy_.no_progress <= kind_now_) {
      Lose(StaleReason::kNoProgress);
    }
    return OkStatus();
  }

  Status Do(const command::Requeue& requeue) {
    if (job_.phase == Phase::kLeased) return Forbidden(job_, "bury it first, then requeue it");
    if (job_.phase == Phase::kCompleted) return Forbidden(job_, "there is nothing left to do");
    if (!HasState(policy_, job_.state)) {
      return Forbidden(
          job_, "its kind no longer has the state " + job_.state + ": add it to the policy again");
    }
    Say(Add(Change::kRequeued), requeue);
    GoodPoll();
    job_.entered = kind_now_;
    job_.state_time = now_;
    job_.reason = StaleReason::kNone;
    job_.cancel_requested = false;
    Wait(Micros(0));
    return OkStatus();
  }
  Status Do(const command::Bury& bury) {
    if (!IsInFlight(job_.phase)) return Forbidden(job_, "only a job in flight can be buried");
    GiveUp(StaleReason::kNone, bury.note).actor = bury.actor;
    return OkStatus();
  }

  Outcome Finish() && {
    for (JobEvent& event : outcome_.events) event.phase = job_.phase;
    return std::move(outcome_);
  }

 private:
  JobEvent& Add(Change change) {
    JobEvent event;
    event.change = change;
    event.from_state = job_.state;
    event.to_state = job_.state;
    event.token = job_.token;
    event.owner = job_.owner;
    event.request = request_;
    return outcome_.events.emplace_back(std::move(event));
  }

  template <class Command>
  static void Say(JobEvent& event, const Command& command) {
    event.note = command.note;
    event.actor = command.actor;
  }

  void Extend() { job_.ready_time = std::max(job_.ready_time, now_ + policy_.lease); }
  // The store's clock may be set back: what was reached stays.
  void MarkProgress() { job_.progressed = std::max(job_.progressed, kind_now_); }
  void GoodPoll() {
    MarkProgress();
    job_.failures = 0;
    job_.losses = 0;
  }

  // Back to waiting; a job whose cancellation was asked for ends here instead.
  void Wait(Micros delay) {
    if (job_.cancel_requested) {
      Add(Change::kCancelled);
      return End(Phase::kCancelled);
    }
    job_.phase = Phase::kWaiting;
    job_.ready_time = now_ + delay;
    job_.owner.clear();
  }

  void End(Phase phase) {
    job_.phase = phase;
    job_.ready_time = now_;
    job_.owner.clear();
  }

  JobEvent& GiveUp(StaleReason reason, const std::string& note) {
    JobEvent& event = Add(Change::kBuried);
    event.reason = reason;
    event.note = note;
    job_.reason = reason;
    End(Phase::kBuried);
    return event;
  }

  // Taken from its worker.
  void Lose(StaleReason reason) {
    ++job_.losses;
    if (!job_.cancel_requested && job_.losses >= policy_.max_losses) {
      GiveUp(StaleReason::kPoison, "");
      return;
    }
    Add(Change::kReturned).reason = reason;
    Wait(Micros(0));
  }

  Outcome outcome_;
  Job& job_;
  const std::string& request_;
  const Rules& rules_;
  const Policy& policy_;
  const Time now_;
  const Time kind_now_;
};

std::optional<int64_t> TokenOf(const Command& command) {
  return std::visit(
      [](const auto& each) -> std::optional<int64_t> {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, command::Claim> || std::is_same_v<T, command::Sweep> ||
                      std::is_same_v<T, command::Requeue> || std::is_same_v<T, command::Bury>) {
          return std::nullopt;
        } else {
          return each.token;
        }
      },
      command);
}

}  // namespace

bool IsFenced(const Job& job, const Command& command) {
  const std::optional<int64_t> token = TokenOf(command);
  return token && (job.phase != Phase::kLeased || job.token != *token);
}

StatusOr<Outcome> Register(const JobKey& key, std::string state, std::string payload,
                           std::optional<Micros> delay, const std::string& request,
                           const Rules& rules, Time now) {
  if (!HasState(rules.policy, state)) {
    return InvalidField("state", "is not a state of kind " + key.kind);
  }
  Job job;
  job.key = key;
  job.state = std::move(state);
  job.payload = std::move(payload);
  job.create_time = now;
  job.state_time = now;
  job.ready_time = now + delay.value_or(Micros(0));
  job.entered = rules.clock.At(now);
  job.progressed = job.entered;
  JobEvent event;
  event.change = Change::kRegistered;
  event.to_state = job.state;
  event.request = request;
  return Outcome{std::move(job), {std::move(event)}};
}

StatusOr<Outcome> Import(const std::string& kind, const JobToImport& from, const ImportNote& note,
                         const Rules& rules, Time now) {
  if (!HasState(rules.policy, from.state)) {
    return InvalidField("state", "is not a state of kind " + kind);
  }
  if (from.state_time > now + kMaxImportLead) {
    return InvalidField("state_time", "is over a minute in the future");
  }
  if (from.state_time < now - kMaxImportAge) {
    return InvalidField("state_time", "is over 365 days ago");
  }
  Job job;
  job.key = {kind, from.id};
  job.state = from.state;
  job.payload = from.payload;
  job.state_time = std::min(from.state_time, now);
  job.create_time = job.state_time;
  job.ready_time = now;
  job.entered = rules.clock.At(now) - (now - job.state_time);
  job.progressed = job.entered;
  JobEvent event;
  event.change = Change::kRegistered;
  event.to_state = job.state;
  event.note = note.note;
  event.actor = note.actor;
  event.request = note.request;
  return Outcome{std::move(job), {std::move(event)}};
}

StatusOr<Outcome> Apply(const Job& job, const Command& command, const std::string& request,
                        const Rules& rules, Time now) {
  const std::string key = RequestKey(command, request);
  if (!key.empty() && key == job.last_request) return Outcome{job, {}};
  if (IsFenced(job, command)) return StaleToken(job);
  Step step(job, request, rules, now);
  WINNOW_RETURN_IF_ERROR(std::visit([&](const auto& each) { return step.Do(each); }, command));
  Outcome outcome = std::move(step).Finish();
  if (!key.empty()) outcome.job.last_request = key;
  return outcome;
}

std::string RequestKey(const Command& command, const std::string& request) {
  // In the order of Command.
  static constexpr const char* kNames[] = {"heartbeat", "progress", "reschedule", "transition",
                                           "complete",  "fail",     "release",    "cancel",
                                           "claim",     "sweep",    "requeue",    "bury"};
  static_assert(std::size(kNames) == std::variant_size_v<Command>);
  return request.empty() ? "" : std::string(kNames[command.index()]) + ":" + request;
}

std::vector<Change> ChangesOf(const Command& command) {
  return std::visit(
      [](const auto& each) -> std::vector<Change> {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, command::Transition>) return {Change::kTransitioned};
        if constexpr (std::is_same_v<T, command::Complete>) return {Change::kCompleted};
        if constexpr (std::is_same_v<T, command::Fail>) {
          return {Change::kAttemptFailed, Change::kFailed, Change::kBuried};
        }
        if constexpr (std::is_same_v<T, command::Cancel>) {
          return {Change::kCancelRequested, Change::kCancelled};
        }
        if constexpr (std::is_same_v<T, command::Requeue>) return {Change::kRequeued};
        if constexpr (std::is_same_v<T, command::Bury>) return {Change::kBuried};
        return {};
      },
      command);
}

}  // namespace winnow::polling
