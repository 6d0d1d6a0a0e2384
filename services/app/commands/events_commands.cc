#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
#include "services/app/commands/remote_options.h"
#include "winnow/events/v1/dead_letter_service.grpc.pb.h"

namespace winnow::app {
namespace {

using events::v1::DeadLetter;
using events::v1::DeadLetterService;

struct EventsOptions {
  RemoteOptions remote;
  std::vector<std::string> ids;
  std::string queue;
  std::string event;
  std::string page_token;
  int count = 50;
  bool all = false;
  bool dry_run = false;
  bool json = false;
};

// "ItemCollected" is short for "winnow.events.v1.ItemCollected".
std::string FullEvent(const std::string& event) {
  const bool is_short = !event.empty() && event.find('.') == std::string::npos;
  return is_short ? "winnow.events.v1." + event : event;
}

void PrintDeadLetter(const DeadLetter& letter) {
  const std::string event = letter.event().substr(letter.event().rfind('.') + 1);
  std::cout << Printable(letter.id()) << '\n'
            << "  " << Printable(event) << " of "
            << (letter.has_occur_time() ? ShortTime(letter.occur_time()) : "an unknown time")
            << ", dead " << ShortTime(letter.dead_time()) << " after " << letter.attempts()
            << (letter.attempts() == 1 ? " attempt" : " attempts") << ", in "
            << Printable(letter.queue()) << '\n'
            << "  " << Printable(letter.reason()) << '\n';
}

int RunList(const EventsOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = DeadLetterService::NewStub(remote->channel());
  events::v1::ListDeadLettersRequest request;
  request.set_queue(options.queue);
  request.set_event(FullEvent(options.event));
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  events::v1::ListDeadLettersResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const Status status = ToStatus(stub->ListDeadLetters(&context, request, &response));
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  for (const DeadLetter& letter : response.dead_letters()) PrintDeadLetter(letter);
  if (response.dead_letters().empty()) std::cout << "no dead letters\n";
  if (!response.next_page_token().empty()) {
    std::cout << "next page: --page-token " << response.next_page_token() << '\n';
  }
  return kOk;
}

// What the two verbs that settle dead letters have in common: their requests and responses are
// alike in all but name.
template <class Response>
int Report(const EventsOptions& options, const Response& response, const char* done) {
  const int verdict = response.missing_ids().empty() ? kOk : kFailed;
  if (options.json) {
    const int printed = PrintJson(response);
    return printed == kOk ? verdict : printed;
  }
  const char* how = options.dry_run ? " would be " : " ";
  std::cout << response.dead_letter_count() << " dead letters" << how << done << '\n';
  for (const std::string& id : response.missing_ids()) {
    std::cout << "is none: " << Printable(id) << '\n';
  }
  if (response.limit_reached()) std::cout << "there may be more: run it again\n";
  return verdict;
}

template <class Request>
void Fill(const EventsOptions& options, Request& request) {
  auto& selection = *request.mutable_selection();
  for (const std::string& id : options.ids) selection.add_ids(id);
  selection.set_queue(options.queue);
  selection.set_event(FullEvent(options.event));
  selection.set_all(options.all);
  request.set_dry_run(options.dry_run);
}

int RunReplay(const EventsOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  events::v1::ReplayDeadLettersRequest request;
  Fill(options, request);
  events::v1::ReplayDeadLettersResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const auto stub = DeadLetterService::NewStub(remote->channel());
  const Status status = ToStatus(stub->ReplayDeadLetters(&context, request, &response));
  return status.ok() ? Report(options, response, "replayed") : Fail(status);
}

int RunPurge(const EventsOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  events::v1::PurgeDeadLettersRequest request;
  Fill(options, request);
  events::v1::PurgeDeadLettersResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const auto stub = DeadLetterService::NewStub(remote->channel());
  const Status status = ToStatus(stub->PurgeDeadLetters(&context, request, &response));
  return status.ok() ? Report(options, response, "purged") : Fail(status);
}

void AddCommon(CLI::App& command, const std::shared_ptr<EventsOptions>& options) {
  command.add_option("--queue", options->queue,
                     "only those of this queue, e.g. winnow.dedup.ItemCollected.v1");
  command.add_option("--event", options->event, "only those of this event, e.g. ItemCollected");
  command.add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(command, options->remote);
}

void AddList(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<EventsOptions>();
  CLI::App* command = group.add_subcommand("list", "events that a consumer could not take");
  command->footer(
      "Shows the ID, event, times, attempts, queue and reason of each; never what it "
      "carries.\n\n"
      "Example:\n  winnow events list --event ItemCollected --count 5");
  command->add_option("--page-token", options->page_token, "go on from here");
  command->add_option("--count", options->count, "dead letters")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  AddCommon(*command, options);
  command->callback(
      [options, &chosen] { chosen = [options](const Interrupt&) { return RunList(*options); }; });
}

using Run = int (*)(const EventsOptions&);

void AddSettle(CLI::App& group, Command& chosen, const char* name, const char* what,
               const std::string& examples, Run run) {
  auto options = std::make_shared<EventsOptions>();
  CLI::App* command = group.add_subcommand(name, what);
  command->footer("At most 10,000 at once.\n\nExamples:\n" + examples +
                  "\nExit codes: as everywhere; 1 also when an ID is none of a dead letter.");
  command->add_option("ID", options->ids, "IDs that `winnow events list` printed");
  command->add_flag("--all", options->all, "all of them");
  command->add_flag("--dry-run", options->dry_run, "only print how many there are");
  AddCommon(*command, options);
  command->callback([options, run, &chosen] {
    chosen = [options, run](const Interrupt&) { return run(*options); };
  });
}

}  // namespace

void AddEventsCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("events", "dead letters: list, replay, purge");
  group->require_subcommand(1);
  AddList(*group, chosen);
  AddSettle(*group, chosen, "replay", "deliver dead letters again",
            "  winnow events replay --all\n  winnow events replay --event DuplicateFound\n",
            RunReplay);
  AddSettle(*group, chosen, "purge", "delete dead letters permanently",
            "  winnow events purge --queue winnow.dedup.ItemCollected.v1 --dry-run\n"
            "  winnow events purge --all\n",
            RunPurge);
}

}  // namespace winnow::app
