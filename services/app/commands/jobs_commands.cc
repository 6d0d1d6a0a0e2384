#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <iostream>

#include "services/app/client/canceller.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
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

int RunList(const JobsOptions& options, const Interrupt& interrupt) {
  const auto phase = ToPhase(options.phase);
  if (!phase.ok()) return Fail(phase.status());
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = PollingRegistryService::NewStub(remote->channel());
  ListJobsRequest request;
  request.set_kind(options.kind);
  request.set_state(options.state);
  request.set_phase(*phase);
  request.set_owner(options.owner);
  if (options.min_age_seconds > 0) *request.mutable_min_age() = ToSeconds(options.min_age_seconds);
  int left = options.count == 0 ? 50 : options.count;
  do {
    request.set_page_size(std::min(left, 1000));
    const auto page = Call(*remote, *stub, &JobsStub::ListJobs, request);
    if (!page.ok()) return Fail(page.status());
    for (const Job& job : page->jobs()) {
      if (PrintJob(options, job) != kOk) return kFailed;
    }
    left -= page->jobs_size();
    request.set_page_token(page->next_page_token());
  } while (left > 0 && !request.page_token().empty() && !interrupt.requested());
  return interrupt.requested() ? kInterrupted : kOk;
}

int RunShow(const JobsOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = PollingRegistryService::NewStub(remote->channel());
  GetJobRequest get;
  get.set_kind(options.kind);
  get.set_id(options.id);
  const auto got = Call(*remote, *stub, &JobsStub::GetJob, get);
  if (!got.ok()) return Fail(got.status());
  if (PrintJob(options, got->job()) != kOk) return kFailed;
  ListJobEventsRequest request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  do {
    const auto page = Call(*remote, *stub, &JobsStub::ListJobEvents, request);
    if (!page.ok()) return Fail(page.status());
    for (const JobEvent& event : page->events()) {
      if ((options.json ? PrintJson(event) : PrintEvent(event)) != kOk) return kFailed;
    }
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && !interrupt.requested());
  return interrupt.requested() ? kInterrupted : kOk;
}

int RunClaim(const JobsOptions& options) {
  ClaimJobsRequest request;
  request.set_kind(options.kind);
  request.set_owner(options.owner);
  request.set_max_jobs(options.count);
  *request.mutable_wait() = ToSeconds(options.wait_seconds);
  JobsOptions waiting = options;
  waiting.remote.timeout_seconds += options.wait_seconds;
  return CallAndPrint(waiting, &JobsStub::ClaimJobs, request, [&](const auto& response) {
    for (const Job& job : response.jobs()) {
      if (PrintJob(options, job) != kOk) return static_cast<int>(kFailed);
    }
    if (response.jobs().empty() && !options.json) std::cout << "none\n";
    return static_cast<int>(kOk);
  });
}

template <class Request, class Response>
int RunOnJob(const JobsOptions& options,
             grpc::Status (JobsStub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  Request request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  request.set_note(options.note);
  return CallAndPrint(options, method, request,
                      [&](const Response& done) { return PrintJob(options, done.job()); });
}

int RunWatch(const JobsOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = PollingRegistryService::NewStub(remote->channel());
  grpc::ClientContext context;
  remote->PrepareStream(context);
  WatchJobsRequest request;
  request.set_kind(options.kind);
  request.set_id(options.id);
  request.set_resume_token(options.token);
  const auto stream = stub->WatchJobs(&context, request);
  WatchJobsResponse response;
  std::string token = options.token;
  int64_t left = options.count > 0 ? options.count : INT64_MAX;
  int printed = kOk;
  {
    const Canceller canceller(interrupt, context);
    while (printed == kOk && left > 0 && stream->Read(&response)) {
      token = response.resume_token();
      left -= response.events_size();
      if (options.json) {
        printed = PrintJson(response);
        continue;
      }
      for (const JobEvent& event : response.events()) {
        if (PrintEvent(event) != kOk) printed = kFailed;
      }
      std::cout.flush();
    }
  }
  context.TryCancel();
  const Status ended = ToStatus(stream->Finish());
  if (printed != kOk) return kFailed;
  if (!options.json && !token.empty()) std::cout << "go on: --resume-token " << token << '\n';
  if (interrupt.requested()) return kInterrupted;
  return left <= 0 || ended.ok() ? kOk : Fail(ended);
}

void AddJobArguments(CLI::App& verb, JobsOptions& options) {
  verb.add_option("id", options.id, "id of the job")->required();
  verb.add_option("--note", options.note, "why, for its history");
}

void AddListVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* list = AddJobsVerb(group, chosen, "list", "jobs of a kind, by id", options, RunList);
  list->footer("Example:\n  winnow jobs list --phase buried");
  list->add_option("--state", options->state, "only of this state");
  list->add_option("--phase", options->phase,
                   "only waiting, leased, buried, completed, failed or cancelled");
  list->add_option("--owner", options->owner, "only of this worker");
  list->add_option("--min-age", options->min_age_seconds, "only this many seconds in their state");
  list->add_option("--count", options->count, "jobs (default: 50)")->check(CLI::Range(1, 1000000));
}

void AddClaimVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  options->owner = "winnow-cli";
  CLI::App* claim = AddJobsVerb(group, chosen, "claim", "take due jobs, as a worker does", options,
                                [](const JobsOptions& o, const Interrupt&) { return RunClaim(o); });
  claim->footer(
      "The lease ends by itself; a job is buried after three claims without a heartbeat or "
      "result.");
  claim->add_option("--owner", options->owner, "name of the worker")->capture_default_str();
  claim->add_option("--count", options->count, "jobs (default: 1)")->check(CLI::Range(1, 100));
  claim->add_option("--wait", options->wait_seconds, "seconds to wait for the first")
      ->check(CLI::Range(0.0, 30.0));
}

void AddWatchVerb(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<JobsOptions>();
  CLI::App* watch = AddJobsVerb(group, chosen, "watch", "follow what happens", options, RunWatch);
  watch->add_option("id", options->id, "only this job");
  watch->add_option("--resume-token", options->token, "go on where a watch ended");
  watch->add_option("--count", options->count, "end after so many events (default: never)")
      ->check(CLI::Range(1, 1000000));
}

}  // namespace

void AddJobsCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("jobs", "jobs in flight: look, and put right");
  group->require_subcommand(1);
  AddListVerb(*group, chosen);
  auto options = std::make_shared<JobsOptions>();
  AddJobsVerb(*group, chosen, "show", "a job and its history", options, RunShow)
      ->add_option("id", options->id, "id of the job")
      ->required();
  AddClaimVerb(*group, chosen);
  options = std::make_shared<JobsOptions>();
  AddJobArguments(*AddJobsVerb(*group, chosen, "requeue", "bring a job back", options,
                               [](const JobsOptions& o, const Interrupt&) {
                                 return RunOnJob(o, &JobsStub::RequeueJob);
                               }),
                  *options);
  options = std::make_shared<JobsOptions>();
  AddJobArguments(*AddJobsVerb(*group, chosen, "bury", "take a job out of flight", options,
                               [](const JobsOptions& o, const Interrupt&) {
                                 return RunOnJob(o, &JobsStub::BuryJob);
                               }),
                  *options);
  options = std::make_shared<JobsOptions>();
  AddJobArguments(
      *AddJobsVerb(
          *group, chosen, "cancel", "cancel a job, or ask its worker to", options,
          [](const JobsOptions& o, const Interrupt&) { return RunOnJob(o, &JobsStub::CancelJob); }),
      *options);
  AddWatchVerb(*group, chosen);
  AddJobsKindCommands(*group, chosen);
  AddJobsImportRedis(*group, chosen);
}

}  // namespace winnow::app
