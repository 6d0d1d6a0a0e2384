#include <iostream>
#include <vector>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/verb.h"
#include "winnow/events/v1/dead_letter_service.grpc.pb.h"

namespace winnow::app {
namespace {

using events::v1::DeadLetter;
using events::v1::DeadLetterService;
using Stub = DeadLetterService::Stub;

struct EventsOptions : VerbOptions {
  std::vector<std::string> ids;
  std::string queue;
  std::string event;
  std::string page_token;
  int count = 50;
  bool all = false;
  bool dry_run = false;
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

StatusOr<int> RunList(const EventsOptions& options, const Interrupt&) {
  events::v1::ListDeadLettersRequest request;
  request.set_queue(options.queue);
  request.set_event(FullEvent(options.event));
  request.set_page_size(options.count);
  request.set_page_token(options.page_token);
  WINNOW_ASSIGN_OR_RETURN(const auto page, CallOnce<DeadLetterService>(
                                               options.remote, &Stub::ListDeadLetters, request));
  if (options.json) return PrintJson(page);
  for (const DeadLetter& letter : page.dead_letters()) PrintDeadLetter(letter);
  if (page.dead_letters().empty()) std::cout << "no dead letters\n";
  PrintNextPage(page.next_page_token());
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

template <class Request, class Response>
StatusOr<int> Settle(const EventsOptions& options,
                     grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const char* done) {
  Request request;
  auto& selection = *request.mutable_selection();
  for (const std::string& id : options.ids) selection.add_ids(id);
  selection.set_queue(options.queue);
  selection.set_event(FullEvent(options.event));
  selection.set_all(options.all);
  request.set_dry_run(options.dry_run);
  WINNOW_ASSIGN_OR_RETURN(const Response response,
                          CallOnce<DeadLetterService>(options.remote, method, request));
  return Report(options, response, done);
}

StatusOr<int> RunReplay(const EventsOptions& options, const Interrupt&) {
  return Settle(options, &Stub::ReplayDeadLetters, "replayed");
}

StatusOr<int> RunPurge(const EventsOptions& options, const Interrupt&) {
  return Settle(options, &Stub::PurgeDeadLetters, "purged");
}

Verb<EventsOptions> Add(CLI::App& group, Command& chosen, const char* name, const char* help,
                        RunVerb<EventsOptions> run) {
  const auto verb = AddVerb(group, chosen, name, help, run);
  verb.command.add_option("--queue", verb.options.queue,
                          "only those of this queue, e.g. winnow.dedup.ItemCollected.v1");
  verb.command.add_option("--event", verb.options.event,
                          "only those of this event, e.g. ItemCollected");
  return verb;
}

void AddList(CLI::App& group, Command& chosen) {
  auto [list, options] =
      Add(group, chosen, "list", "events that a consumer could not take", RunList);
  list.footer(
      "Shows the ID, event, times, attempts, queue and reason of each; never what it "
      "carries.\n\n"
      "Example:\n  winnow events list --event ItemCollected --count 5");
  AddPageToken(list, options.page_token);
  AddCount(list, options.count, 1000, "dead letters");
}

void AddSettle(CLI::App& group, Command& chosen, const char* name, const char* help,
               const std::string& examples, RunVerb<EventsOptions> run) {
  auto [command, options] = Add(group, chosen, name, help, run);
  command.footer("At most 10,000 at once.\n\nExamples:\n" + examples +
                 "\nExit codes: as everywhere; 1 also when an ID is none of a dead letter.");
  command.add_option("ID", options.ids, "IDs that `winnow events list` printed");
  command.add_flag("--all", options.all, "all of them");
  command.add_flag("--dry-run", options.dry_run, "only print how many there are");
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
