#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
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

int RunKick(const JobsOptions& options) {
  const auto reason = ToReason(options.reason);
  if (!reason.ok()) return Fail(reason.status());
  KickJobsRequest request;
  request.set_kind(options.kind);
  request.set_reason(*reason);
  request.set_max_jobs(options.count);
  request.set_note(options.note);
  return CallAndPrint(options, &JobsStub::KickJobs, request, [&](const KickJobsResponse& done) {
    if (options.json) return PrintJson(done);
    std::cout << done.kicked_count() << " came back\n";
    PrintIds(done.ids());
    return static_cast<int>(kOk);
  });
}

int RunPurge(const JobsOptions& options) {
  const auto phase = ToPhase(options.phase);
  if (!phase.ok()) return Fail(phase.status());
  PurgeJobsRequest request;
  request.set_kind(options.kind);
  *request.mutable_min_age() = ToSeconds(options.min_age_seconds);
  if (*phase != JOB_PHASE_UNSPECIFIED) request.add_phases(*phase);
  request.set_max_jobs(options.count);
  request.set_dry_run(options.dry_run);
  request.set_note(options.note);
  return CallAndPrint(options, &JobsStub::PurgeJobs, request, [&](const PurgeJobsResponse& done) {
    if (options.json) return PrintJson(done);
    std::cout << done.purged_count() << (done.dry_run() ? " would go\n" : " are gone\n");
    PrintIds(done.ids());
    return static_cast<int>(kOk);
  });
}

int RunPreview(const JobsOptions& options) {
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
    return Fail(InvalidField("policy", "is required: say --deadline, --no-progress or --lease"));
  }
  return CallAndPrint(
      options, &JobsStub::PreviewPolicy, request, [&](const PreviewPolicyResponse& preview) {
        if (options.json) return PrintJson(preview);
        std::cout << "would sweep " << preview.would_sweep_count() << " now ("
                  << preview.would_sweep_unchanged_count() << " by the rules in force)\n";
        for (const WouldSweep& sweep : preview.sweeps()) {
          std::cout << StaleReason_Name(sweep.reason()).substr(13) << ": " << sweep.count() << '\n';
          PrintIds(sweep.ids());
        }
        return static_cast<int>(kOk);
      });
}

std::string Show(const google::protobuf::Duration& duration) {
  const auto micros = FromDuration(duration);
  if (!micros.ok()) return "?";
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(*micros).count()) + " s";
}

int RunPolicy(const JobsOptions& options) {
  GetPolicyRequest request;
  request.set_kind(options.kind);
  return CallAndPrint(options, &JobsStub::GetPolicy, request, [&](const GetPolicyResponse& got) {
    if (options.json) return PrintJson(got);
    const Policy& policy = got.policy();
    std::cout << options.kind << ", version " << policy.version() << ":";
    for (const std::string& state : policy.states()) std::cout << " " << state;
    std::cout << "\nlease " << Show(policy.lease()) << ", no progress "
              << Show(policy.no_progress()) << ", deadline " << Show(policy.deadline())
              << ", swept every " << Show(policy.sweep_interval()) << ", polled every "
              << Show(policy.poll_interval()) << ", " << policy.max_attempts() << " attempts, "
              << policy.max_losses() << " lost workers, ended jobs kept "
              << Show(policy.retention()) << '\n';
    return static_cast<int>(kOk);
  });
}

int RunStats(const JobsOptions& options) {
  GetStatsRequest request;
  request.set_kind(options.kind);
  return CallAndPrint(options, &JobsStub::GetStats, request, [&](const GetStatsResponse& stats) {
    if (options.json) return PrintJson(stats);
    for (const KindStats& kind : stats.kinds()) {
      std::cout << kind.kind() << ": due lag " << Show(kind.due_lag());
      if (kind.has_pause_time()) std::cout << ", paused since " << ShortTime(kind.pause_time());
      std::cout << '\n';
      for (const JobCount& count : kind.counts()) {
        std::cout << "  " << count.state() << "  " << JobPhase_Name(count.phase()).substr(10)
                  << "  " << count.count() << ", oldest " << Show(count.oldest_age()) << '\n';
      }
    }
    return static_cast<int>(kOk);
  });
}

int RunPause(const JobsOptions& options) {
  PauseKindRequest request;
  request.set_kind(options.kind);
  request.set_note(options.note);
  return CallAndPrint(options, &JobsStub::PauseKind, request, [&](const PauseKindResponse& done) {
    if (options.json) return PrintJson(done);
    std::cout << options.kind << " is paused since " << ShortTime(done.pause_time()) << '\n';
    return static_cast<int>(kOk);
  });
}

int RunResume(const JobsOptions& options) {
  ResumeKindRequest request;
  request.set_kind(options.kind);
  request.set_note(options.note);
  return CallAndPrint(options, &JobsStub::ResumeKind, request, [&](const ResumeKindResponse& done) {
    if (options.json) return PrintJson(done);
    std::cout << options.kind << " goes on; paused " << Show(done.total_paused()) << " in all\n";
    return static_cast<int>(kOk);
  });
}

// Those that need no interrupt.
template <int (*run)(const JobsOptions&)>
int Plain(const JobsOptions& options, const Interrupt&) {
  return run(options);
}

void AddKickVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* kick =
      AddJobsVerb(group, chosen, "kick", "bring buried jobs back", options, Plain<RunKick>);
  kick->add_option("--reason", options->reason,
                   "only lease_lost, no_progress, deadline, max_attempts or poison");
  kick->add_option("--count", options->count, "jobs (default: 1000)")->check(CLI::Range(1, 10000));
  kick->add_option("--note", options->note, "why, for their history");
}

void AddPurgeVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* purge =
      AddJobsVerb(group, chosen, "purge", "delete ended jobs", options, Plain<RunPurge>);
  purge->footer("Example:\n  winnow jobs purge --kind stt --older-than 604800 --dry-run");
  purge->add_option("--older-than", options->min_age_seconds, "seconds since they ended")
      ->required()
      ->check(CLI::Range(0.0, 315360000.0));
  purge->add_option("--phase", options->phase,
                    "only buried, completed, failed or cancelled (default: the last three)");
  purge->add_option("--count", options->count, "jobs a call (default: 1000)")
      ->check(CLI::Range(1, 10000));
  purge->add_option("--note", options->note, "why, for the audit");
  purge->add_flag("--dry-run", options->dry_run, "report only, change nothing");
}

void AddPreviewVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* preview =
      AddJobsVerb(group, chosen, "preview", "what a sweep by other rules would take now", options,
                  Plain<RunPreview>);
  preview->footer("Example:\n  winnow jobs policy preview --deadline 1800");
  preview->add_option("--deadline", options->deadline_seconds, "seconds in one state");
  preview->add_option("--no-progress", options->no_progress_seconds, "seconds without progress");
  preview->add_option("--lease", options->lease_seconds, "seconds of a lease");
  preview->add_option("--count", options->count, "ids of each reason (default: 100)")
      ->check(CLI::Range(1, 1000));
}

}  // namespace

void AddJobsKindCommands(CLI::App& group, Command& chosen) {
  AddKickVerb(group, chosen);
  AddPurgeVerb(group, chosen);
  CLI::App* policy = group.add_subcommand("policy", "the rules of a kind");
  policy->require_subcommand(1);
  AddJobsVerb(*policy, chosen, "show", "the rules in force", std::make_shared<JobsOptions>(),
              Plain<RunPolicy>);
  AddPreviewVerb(*policy, chosen);
  AddJobsVerb(group, chosen, "stats", "jobs by state and phase", std::make_shared<JobsOptions>(),
              Plain<RunStats>);
  auto options = std::make_shared<JobsOptions>();
  CLI::App* pause =
      AddJobsVerb(group, chosen, "pause", "stop a kind and its clocks", options, Plain<RunPause>);
  pause->add_option("--note", options->note, "why, for the audit");
  options = std::make_shared<JobsOptions>();
  CLI::App* resume =
      AddJobsVerb(group, chosen, "resume", "go on with a kind", options, Plain<RunResume>);
  resume->add_option("--note", options->note, "why, for the audit");
  // Nothing happens to a whole kind because nobody said which.
  for (CLI::App* verb :
       {pause, resume, group.get_subcommand("kick"), group.get_subcommand("purge")}) {
    verb->get_option("--kind")->required()->default_str("");
  }
}

}  // namespace winnow::app
