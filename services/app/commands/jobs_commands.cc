#include <algorithm>
#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/jobs_options.h"

// Verbs on single jobs, lists and the watch. Those on kinds are beside.
namespace winnow::app {
namespace {

using namespace polling::v1;  // NOLINT(google-build-using-namespace): this file's subject

int PrintEvent(const JobEvent& event) {
  std::cout << ShortTime(event.event_time()) << "  " << event.kind() << "/" << event.id() << "  "
            << JobChange_Name(event.change()).substr(11);
  if (event.reason() != STALE_REASON_UNSPECIFIED) {
    std::cout << " (" << StaleReason_Name(event.reason()).substr(13) << ")";
  }
  std::cout << "  ";
  if (!event.from_state().empty() && event.from_state() != event.to_state()) {
    std::cout << event.from_state() << " -> ";
  }
  std::cout << event.to_state();
  if (!event.owner().empty()) std::cout << " by " << Printable(event.owner());
  if (event.token() != 0) std::cout << ", token " << event.token();
  if (!event.actor().empty()) std::cout << ", asked by " << Printable(event.actor());
  if (!event.note().empty()) std::cout << ": " << Printable(event.note());
  std::cout << '\n';
  return std::cout ? kOk : kFailed;
}

StatusOr<int> RunList(const JobsOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const JobPhase phase, ToPhase(options.phase));
  WINNOW_ASSIGN_OR_RETURN(const Registry server, Registry::Connect(options.remote));
  ListJobsRequest request;
  request.set_kind(options.kind);
  request.set_state(options.state);
  request.set_phase(phase);
  request.set_owner(options.owner);
  if (options.min_age_seconds > 0) *request.mutable_min_age() = ToSeconds(options.min_age_seconds);
  int left = options.count == 0 ? 50 : options.count;
  do {
    request.set_page_size(std::min(left, 1000));
    WINNOW_ASSIGN_OR_RETURN(const auto page, server.Call(&RegistryStub::ListJobs, request));
    for (const Job& job : page.jobs()) {
      if (PrintJob(options, job) != kOk) return kFailed;
    }
    left -= page.jobs_size();
    request.set_page_token(page.next_page_token());
  } while (left > 0 && !request.page_token().empty() && !interrupt.requested());
  return interrupt.requested() ? kInterrupted : kOk;
}

StatusOr<int> RunShow(const JobsOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Registry server, Registry::Connect(options.remote));
  GetJobRequest get;
  get.set_kind(options.kind);
  get.set_id(options.id);
  WINNOW_ASSIGN_OR_RETURN(const auto got, server.Call(&RegistryStub::GetJob, get));
  if (PrintJob(options, got.job()) != kOk) return kFailed;
  ListJobEventsRequest request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  do {
    WINNOW_ASSIGN_OR_RETURN(const auto page, server.Call(&RegistryStub::ListJobEvents, request));
    for (const JobEvent& event : page.events()) {
      if ((options.json ? PrintJson(event) : PrintEvent(event)) != kOk) return kFailed;
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && !interrupt.requested());
  return interrupt.requested() ? kInterrupted : kOk;
}

StatusOr<int> RunClaim(const JobsOptions& options, const Interrupt&) {
  ClaimJobsRequest request;
  request.set_kind(options.kind);
  request.set_owner(options.owner);
  request.set_max_jobs(options.count);
  *request.mutable_wait() = ToSeconds(options.wait_seconds);
  RemoteOptions patient = options.remote;
  patient.timeout_seconds += options.wait_seconds;
  WINNOW_ASSIGN_OR_RETURN(const auto claimed, CallOnce<PollingRegistryService>(
                                                  patient, &RegistryStub::ClaimJobs, request));
  for (const Job& job : claimed.jobs()) {
    if (PrintJob(options, job) != kOk) return kFailed;
  }
  if (claimed.jobs().empty() && !options.json) std::cout << "none\n";
  return kOk;
}

template <class Request, class Response>
StatusOr<int> RunOnJob(const JobsOptions& options, Registry::Unary<Request, Response> method) {
  Request request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  request.set_note(options.note);
  WINNOW_ASSIGN_OR_RETURN(const Response done,
                          CallOnce<PollingRegistryService>(options.remote, method, request));
  return PrintJob(options, done.job());
}

StatusOr<int> RunRequeue(const JobsOptions& options, const Interrupt&) {
  return RunOnJob(options, &RegistryStub::RequeueJob);
}

StatusOr<int> RunBury(const JobsOptions& options, const Interrupt&) {
  return RunOnJob(options, &RegistryStub::BuryJob);
}

StatusOr<int> RunCancel(const JobsOptions& options, const Interrupt&) {
  return RunOnJob(options, &RegistryStub::CancelJob);
}

int PrintChanges(const JobsOptions& options, const WatchJobsResponse& response) {
  if (options.json) return PrintJson(response);
  for (const JobEvent& event : response.events()) {
    if (PrintEvent(event) != kOk) return kFailed;
  }
  std::cout.flush();
  return kOk;
}

StatusOr<int> RunWatch(const JobsOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Registry server, Registry::Connect(options.remote));
  WatchJobsRequest request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  request.set_resume_token(options.token);
  std::string token = options.token;
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  int printed = kOk;
  const auto print = [&](const WatchJobsResponse& response) {
    token = response.resume_token();
    left -= response.events_size();
    printed = PrintChanges(options, response);
    return printed == kOk && left > 0;
  };
  const Status ended = server.Follow(&RegistryStub::WatchJobs, request, interrupt, print);
  if (printed != kOk) return kFailed;
  if (!options.json && !token.empty()) std::cout << "go on: --resume-token " << token << '\n';
  if (interrupt.requested()) return kInterrupted;
  WINNOW_RETURN_IF_ERROR(ended);
  return kOk;
}

void AddJobVerb(CLI::App& group, Command& chosen, const char* name, const char* help,
                RunVerb<JobsOptions> run) {
  auto [command, options] = AddJobsVerb(group, chosen, name, help, run);
  command.add_option("id", options.id, "id of the job")->required();
  command.add_option("--note", options.note, "why, for its history");
}

void AddListVerb(CLI::App& group, Command& chosen) {
  auto [list, options] = AddJobsVerb(group, chosen, "list", "jobs of a kind, by id", RunList);
  list.footer("Example:\n  winnow jobs list --phase buried");
  list.add_option("--state", options.state, "only of this state");
  list.add_option("--phase", options.phase,
                  "only waiting, leased, buried, completed, failed or cancelled");
  list.add_option("--owner", options.owner, "only of this worker");
  list.add_option("--min-age", options.min_age_seconds, "only this many seconds in their state");
  list.add_option("--count", options.count, "jobs (default: 50)")->check(CLI::Range(1, 1000000));
}

void AddClaimVerb(CLI::App& group, Command& chosen) {
  auto [claim, options] =
      AddJobsVerb(group, chosen, "claim", "take due jobs, as a worker does", RunClaim);
  options.owner = "winnow-cli";
  claim.footer(
      "The lease ends by itself; a job is buried after three claims without a heartbeat or "
      "result.");
  claim.add_option("--owner", options.owner, "name of the worker")->capture_default_str();
  claim.add_option("--count", options.count, "jobs (default: 1)")->check(CLI::Range(1, 100));
  claim.add_option("--wait", options.wait_seconds, "seconds to wait for the first")
      ->check(CLI::Range(0.0, 30.0));
}

void AddWatchVerb(CLI::App& group, Command& chosen) {
  auto [watch, options] = AddJobsVerb(group, chosen, "watch", "follow what happens", RunWatch);
  watch.add_option("id", options.id, "only this job");
  watch.add_option("--resume-token", options.token, "go on where a watch ended");
  watch.add_option("--count", options.count, "end after so many events (default: never)")
      ->check(CLI::Range(1, 1000000));
}

}  // namespace

void AddJobsCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("jobs", "jobs in flight: look, and put right");
  group->require_subcommand(1);
  AddListVerb(*group, chosen);
  auto [show, shown] = AddJobsVerb(*group, chosen, "show", "a job and its history", RunShow);
  show.add_option("id", shown.id, "id of the job")->required();
  AddClaimVerb(*group, chosen);
  AddJobVerb(*group, chosen, "requeue", "bring a job back", RunRequeue);
  AddJobVerb(*group, chosen, "bury", "take a job out of flight", RunBury);
  AddJobVerb(*group, chosen, "cancel", "cancel a job, or ask its worker to", RunCancel);
  AddWatchVerb(*group, chosen);
  AddJobsKindCommands(*group, chosen);
  AddJobsImportRedis(*group, chosen);
}

}  // namespace winnow::app
