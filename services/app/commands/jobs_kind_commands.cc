#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/commands/jobs_options.h"
#include "services/platform/proto/timestamp.h"

// Verbs on kinds and on many jobs at once.
namespace winnow::app {
namespace {

using namespace polling::v1;  // NOLINT(google-build-using-namespace): this file's subject

template <class Ids>
void PrintIds(const Ids& ids) {
  for (const std::string& id : ids) std::cout << "  " << id << '\n';
}

StatusOr<int> RunKick(const JobsOptions& options, const Interrupt&) {
  WINNOW_ASSIGN_OR_RETURN(const StaleReason reason, ToReason(options.reason));
  KickJobsRequest request;
  request.set_kind(options.kind);
  request.set_reason(reason);
  request.set_max_jobs(options.count);
  request.set_note(options.note);
  WINNOW_ASSIGN_OR_RETURN(const auto done, CallOnce<PollingRegistryService>(
                                               options.remote, &RegistryStub::KickJobs, request));
  if (options.json) return PrintJson(done);
  std::cout << done.kicked_count() << " came back\n";
  PrintIds(done.ids());
  return kOk;
}

StatusOr<int> RunPurge(const JobsOptions& options, const Interrupt&) {
  WINNOW_ASSIGN_OR_RETURN(const JobPhase phase, ToPhase(options.phase));
  PurgeJobsRequest request;
  request.set_kind(options.kind);
  *request.mutable_min_age() = ToSeconds(options.min_age_seconds);
  if (phase != JOB_PHASE_UNSPECIFIED) request.add_phases(phase);
  request.set_max_jobs(options.count);
  request.set_dry_run(options.dry_run);
  request.set_note(options.note);
  WINNOW_ASSIGN_OR_RETURN(const auto done, CallOnce<PollingRegistryService>(
                                               options.remote, &RegistryStub::PurgeJobs, request));
  if (options.json) return PrintJson(done);
  std::cout << done.purged_count() << (done.dry_run() ? " would go\n" : " are gone\n");
  PrintIds(done.ids());
  return kOk;
}

StatusOr<int> RunPreview(const JobsOptions& options, const Interrupt&) {
  PreviewPolicyRequest request;
  request.set_kind(options.kind);
  request.set_max_ids(options.count);
  const auto change = [&](const char* field, double seconds, google::protobuf::Duration* to) {
    if (seconds <= 0) return;
    request.mutable_update_mask()->add_paths(field);
    *to = ToSeconds(seconds);
  };
  Policy& policy = *request.mutable_policy();
  if (options.deadline_seconds > 0) {
    change("deadline", options.deadline_seconds, policy.mutable_deadline());
  }
  if (options.no_progress_seconds > 0) {
    change("no_progress", options.no_progress_seconds, policy.mutable_no_progress());
  }
  if (options.lease_seconds > 0) change("lease", options.lease_seconds, policy.mutable_lease());
  if (request.update_mask().paths().empty()) {
    return InvalidField("policy", "is required: say --deadline, --no-progress or --lease");
  }
  WINNOW_ASSIGN_OR_RETURN(
      const auto preview,
      CallOnce<PollingRegistryService>(options.remote, &RegistryStub::PreviewPolicy, request));
  if (options.json) return PrintJson(preview);
  std::cout << "would sweep " << preview.would_sweep_count() << " now ("
            << preview.would_sweep_unchanged_count() << " by the rules in force)\n";
  for (const WouldSweep& sweep : preview.sweeps()) {
    std::cout << StaleReason_Name(sweep.reason()).substr(13) << ": " << sweep.count() << '\n';
    PrintIds(sweep.ids());
  }
  return kOk;
}

std::string Show(const google::protobuf::Duration& duration) {
  const auto micros = FromDuration(duration);
  if (!micros.ok()) return "?";
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(*micros).count()) + " s";
}

StatusOr<int> RunPolicy(const JobsOptions& options, const Interrupt&) {
  GetPolicyRequest request;
  request.set_kind(options.kind);
  WINNOW_ASSIGN_OR_RETURN(const auto got, CallOnce<PollingRegistryService>(
                                              options.remote, &RegistryStub::GetPolicy, request));
  if (options.json) return PrintJson(got);
  const Policy& policy = got.policy();
  std::cout << options.kind << ", version " << policy.version() << ":";
  for (const std::string& state : policy.states()) std::cout << " " << state;
  std::cout << "\nlease " << Show(policy.lease()) << ", no progress " << Show(policy.no_progress())
            << ", deadline " << Show(policy.deadline()) << ", swept every "
            << Show(policy.sweep_interval()) << ", polled every " << Show(policy.poll_interval())
            << ", " << policy.max_attempts() << " attempts, " << policy.max_losses()
            << " lost workers, ended jobs kept " << Show(policy.retention()) << '\n';
  return kOk;
}

StatusOr<int> RunStats(const JobsOptions& options, const Interrupt&) {
  GetStatsRequest request;
  request.set_kind(options.kind);
  WINNOW_ASSIGN_OR_RETURN(const auto stats, CallOnce<PollingRegistryService>(
                                                options.remote, &RegistryStub::GetStats, request));
  if (options.json) return PrintJson(stats);
  for (const KindStats& kind : stats.kinds()) {
    std::cout << kind.kind() << ": due lag " << Show(kind.due_lag());
    if (kind.has_pause_time()) std::cout << ", paused since " << ShortTime(kind.pause_time());
    std::cout << '\n';
    for (const JobCount& count : kind.counts()) {
      std::cout << "  " << count.state() << "  " << JobPhase_Name(count.phase()).substr(10) << "  "
                << count.count() << ", oldest " << Show(count.oldest_age()) << '\n';
    }
  }
  return kOk;
}

StatusOr<int> RunPause(const JobsOptions& options, const Interrupt&) {
  PauseKindRequest request;
  request.set_kind(options.kind);
  request.set_note(options.note);
  WINNOW_ASSIGN_OR_RETURN(const auto done, CallOnce<PollingRegistryService>(
                                               options.remote, &RegistryStub::PauseKind, request));
  if (options.json) return PrintJson(done);
  std::cout << options.kind << " is paused since " << ShortTime(done.pause_time()) << '\n';
  return kOk;
}

StatusOr<int> RunResume(const JobsOptions& options, const Interrupt&) {
  ResumeKindRequest request;
  request.set_kind(options.kind);
  request.set_note(options.note);
  WINNOW_ASSIGN_OR_RETURN(const auto done, CallOnce<PollingRegistryService>(
                                               options.remote, &RegistryStub::ResumeKind, request));
  if (options.json) return PrintJson(done);
  std::cout << options.kind << " goes on; paused " << Show(done.total_paused()) << " in all\n";
  return kOk;
}

// A verb that changes jobs of a whole kind, which has to be named.
Verb<JobsOptions> AddKindVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                              const char* note, RunVerb<JobsOptions> run) {
  const auto verb = AddJobsVerb(group, chosen, name, help, run);
  verb.command.get_option("--kind")->required()->default_str("");
  verb.command.add_option("--note", verb.options.note, note);
  return verb;
}

void AddKickVerb(CLI::App& group, Command& chosen) {
  auto [kick, options] = AddKindVerb(group, chosen, "kick", "bring buried jobs back",
                                     "why, for their history", RunKick);
  kick.add_option("--reason", options.reason,
                  "only lease_lost, no_progress, deadline, max_attempts or poison");
  kick.add_option("--count", options.count, "jobs (default: 1000)")->check(CLI::Range(1, 10000));
}

void AddPurgeVerb(CLI::App& group, Command& chosen) {
  auto [purge, options] =
      AddKindVerb(group, chosen, "purge", "delete ended jobs", "why, for the audit", RunPurge);
  purge.footer("Example:\n  winnow jobs purge --kind stt --older-than 604800 --dry-run");
  purge.add_option("--older-than", options.min_age_seconds, "seconds since they ended")
      ->required()
      ->check(CLI::Range(0.0, 315360000.0));
  purge.add_option("--phase", options.phase,
                   "only buried, completed, failed or cancelled (default: the last three)");
  purge.add_option("--count", options.count, "jobs a call (default: 1000)")
      ->check(CLI::Range(1, 10000));
  purge.add_flag("--dry-run", options.dry_run, "report only, change nothing");
}

void AddPreviewVerb(CLI::App& group, Command& chosen) {
  auto [preview, options] = AddJobsVerb(group, chosen, "preview",
                                        "what a sweep by other rules would take now", RunPreview);
  preview.footer("Example:\n  winnow jobs policy preview --deadline 1800");
  preview.add_option("--deadline", options.deadline_seconds, "seconds in one state");
  preview.add_option("--no-progress", options.no_progress_seconds, "seconds without progress");
  preview.add_option("--lease", options.lease_seconds, "seconds of a lease");
  preview.add_option("--count", options.count, "ids of each reason (default: 100)")
      ->check(CLI::Range(1, 1000));
}

}  // namespace

void AddJobsKindCommands(CLI::App& group, Command& chosen) {
  AddKickVerb(group, chosen);
  AddPurgeVerb(group, chosen);
  CLI::App* policy = group.add_subcommand("policy", "the rules of a kind");
  policy->require_subcommand(1);
  AddJobsVerb(*policy, chosen, "show", "the rules in force", RunPolicy);
  AddPreviewVerb(*policy, chosen);
  AddJobsVerb(group, chosen, "stats", "jobs by state and phase", RunStats);
  AddKindVerb(group, chosen, "pause", "stop a kind and its clocks", "why, for the audit", RunPause);
  AddKindVerb(group, chosen, "resume", "go on with a kind", "why, for the audit", RunResume);
}

}  // namespace winnow::app
