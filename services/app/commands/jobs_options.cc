#include "services/app/commands/jobs_options.h"

#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/platform/base/ascii.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {

using namespace polling::v1;  // NOLINT(google-build-using-namespace): this file's subject

namespace {

std::string UpperCase(std::string text) {
  for (char& c : text) {
    c = c == '-' ? '_' : ToUpperAscii(c);
  }
  return text;
}

}  // namespace

google::protobuf::Duration ToSeconds(double seconds) {
  return ToDuration(Micros(static_cast<int64_t>(seconds * 1e6)));
}

StatusOr<JobPhase> ToPhase(const std::string& name) {
  JobPhase phase = JOB_PHASE_UNSPECIFIED;
  if (name.empty() || JobPhase_Parse("JOB_PHASE_" + UpperCase(name), &phase)) return phase;
  return InvalidField("phase", "must be waiting, leased, buried, completed, failed or cancelled");
}

StatusOr<StaleReason> ToReason(const std::string& name) {
  StaleReason reason = STALE_REASON_UNSPECIFIED;
  if (name.empty() || StaleReason_Parse("STALE_REASON_" + UpperCase(name), &reason)) return reason;
  return InvalidField("reason",
                      "must be lease_lost, no_progress, deadline, max_attempts or poison");
}

int PrintJob(const JobsOptions& options, const Job& job) {
  if (options.json) return PrintJson(job);
  std::cout << job.kind() << "/" << job.id() << "  " << job.state() << "  "
            << JobPhase_Name(job.phase()).substr(10);
  if (job.reason() != STALE_REASON_UNSPECIFIED) {
    std::cout << " (" << StaleReason_Name(job.reason()).substr(13) << ")";
  }
  if (!job.owner().empty()) std::cout << " by " << Printable(job.owner());
  const bool ended = job.phase() > JOB_PHASE_LEASED;
  std::cout << (ended                             ? ", since "
                : job.phase() == JOB_PHASE_LEASED ? ", until "
                                                  : ", due ")
            << ShortTime(job.ready_time());
  if (job.token() != 0) std::cout << ", token " << job.token();
  if (job.failures() > 0) std::cout << ", " << job.failures() << " failures";
  if (job.losses() > 0) std::cout << ", " << job.losses() << " workers lost";
  if (job.percent() > 0) std::cout << ", " << job.percent() << " %";
  if (job.cancel_requested()) std::cout << ", asked to stop";
  if (!job.note().empty()) std::cout << ": " << Printable(job.note());
  std::cout << '\n';
  return std::cout ? kOk : kFailed;
}

Verb<JobsOptions> AddJobsVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                              RunVerb<JobsOptions> run) {
  const auto verb = AddVerb(group, chosen, name, help, run);
  verb.command.add_option("--kind", verb.options.kind, "kind of the jobs")->capture_default_str();
  return verb;
}

}  // namespace winnow::app
