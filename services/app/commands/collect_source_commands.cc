#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "services/app/client/canceller.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
#include "services/app/commands/remote_options.h"
#include "services/platform/base/ascii.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::app {
namespace {

using namespace collector::v1;  // NOLINT(google-build-using-namespace): this file's subject
using Stub = CollectorService::Stub;

struct SourceOptions {
  RemoteOptions remote;
  std::string ns;
  std::string id;
  std::string file;
  std::string token;
  int count = 20;
  bool folders = false;
  bool wait = false;
  bool json = false;
};

template <class Request, class Response>
StatusOr<Response> Call(const SourceOptions& options,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options.remote));
  const auto stub = CollectorService::NewStub(remote.channel());
  Response response;
  grpc::ClientContext context;
  remote.PrepareCall(context);
  WINNOW_RETURN_IF_ERROR(ToStatus((stub.get()->*method)(&context, request, &response)));
  return response;
}

// "ok" of RUN_OUTCOME_OK.
std::string Lower(std::string name, size_t prefix) {
  name.erase(0, std::min(prefix, name.size()));
  return LowerAscii(name);
}
std::string Show(RunOutcome outcome) { return Lower(RunOutcome_Name(outcome), 12); }
std::string Show(SourceState state) { return Lower(SourceState_Name(state), 13); }

std::string What(const Source& source) {
  if (source.has_naver()) return "naver " + source.naver().query();
  if (source.has_newsdata()) return "newsdata " + source.newsdata().query();
  return "feed " + source.feed().url();
}

void PrintRun(const Run& run) {
  std::cout << run.id() << "  " << ShortTime(run.begin_time()) << "  " << Printable(run.source_id())
            << ": " << Show(run.outcome());
  if (!run.code().empty()) std::cout << " (" << Printable(run.code()) << ")";
  std::cout << ", " << run.new_items() << " new, " << run.known_items() << " known, "
            << run.refused_items() << " refused, " << run.calls() << " calls, "
            << run.found_images() << " pictures\n";
}

int RunSources(const SourceOptions& options) {
  ListSourcesRequest request;
  request.set_namespace_(options.ns);
  request.set_page_size(options.count);
  request.set_page_token(options.token);
  const auto response = Call(options, &Stub::ListSources, request);
  if (!response.ok()) return Fail(response.status());
  if (options.json) return PrintJson(*response);
  for (const Source& source : response->sources()) {
    std::cout << Printable(source.id()) << "  " << Show(source.state()) << "  "
              << Printable(What(source)) << "  every " << source.interval().seconds() << " s, last "
              << (source.has_last_success_time() ? ShortTime(source.last_success_time()) : "never");
    if (source.failures() > 0) std::cout << ", " << source.failures() << " failures since";
    std::cout << '\n';
  }
  if (response->sources().empty()) std::cout << "no sources\n";
  if (!response->next_page_token().empty()) {
    std::cout << "next page: --page-token " << response->next_page_token() << '\n';
  }
  return kOk;
}

int RunRuns(const SourceOptions& options) {
  ListRunsRequest request;
  request.set_source_id(options.id);
  request.set_page_size(options.count);
  request.set_page_token(options.token);
  const auto response = Call(options, &Stub::ListRuns, request);
  if (!response.ok()) return Fail(response.status());
  if (options.json) return PrintJson(*response);
  for (const Run& run : response->runs()) PrintRun(run);
  if (response->runs().empty()) std::cout << "no runs\n";
  if (!response->next_page_token().empty()) {
    std::cout << "next page: --page-token " << response->next_page_token() << '\n';
  }
  return kOk;
}

int RunQuota(const SourceOptions& options) {
  GetQuotaRequest request;
  request.set_credential(options.id);
  const auto response = Call(options, &Stub::GetQuota, request);
  if (!response.ok()) return Fail(response.status());
  if (options.json) return PrintJson(*response);
  for (const Quota& quota : response->quotas()) {
    std::cout << quota.credential() << "  " << quota.vendor() << "  " << quota.day_used() << " of "
              << quota.day_limit() << " calls, until " << ShortTime(quota.reset_time());
    if (quota.quarter_limit() > 0) {
      std::cout << "; " << quota.quarter_used() << " of " << quota.quarter_limit() << " in 15 min";
    }
    if (quota.has_blocked_until()) {
      std::cout << "; " << Show(quota.blocked_by()) << ": none before "
                << ShortTime(quota.blocked_until());
    }
    std::cout << '\n';
  }
  if (response->quotas().empty()) std::cout << "no credentials are configured\n";
  return kOk;
}

int RunImportOpml(const SourceOptions& options) {
  std::ifstream in(options.file, std::ios::binary);
  if (!in) return Fail(InvalidField("FILE", "cannot be read: " + options.file));
  ImportOpmlRequest request;
  request.set_namespace_(options.ns);
  request.set_folders_as_categories(options.folders);
  request.set_opml(
      std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
  const auto response = Call(options, &Stub::ImportOpml, request);
  if (!response.ok()) return Fail(response.status());
  if (options.json) return PrintJson(*response);
  std::cout << response->created_count() << " sources created, " << response->known_count()
            << " known, " << response->refused_count() << " refused\n";
  for (const auto& one : response->refused()) {
    std::cerr << "refused: " << Printable(one.url()) << "  " << Printable(one.title()) << ": "
              << one.reason() << '\n';
  }
  return response->refused_count() > 0 ? kPartlyRefused : kOk;
}

template <class Request, class Response>
int SetState(const SourceOptions& options,
             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
  Request request;
  request.set_id(options.id);
  const auto response = Call(options, method, request);
  if (!response.ok()) return Fail(response.status());
  if (options.json) return PrintJson(*response);
  std::cout << Printable(response->source().id()) << "  " << Show(response->source().state())
            << '\n';
  return kOk;
}

// Prints runs as they end: `count` of them, or until the one of this id was there.
int Follow(const SourceOptions& options, const Remote& remote, const std::string& token,
           const std::string& until, const Interrupt& interrupt) {
  const auto stub = CollectorService::NewStub(remote.channel());
  WatchRunsRequest request;
  request.set_source_id(options.id);
  request.set_resume_token(token);
  grpc::ClientContext context;
  remote.PrepareStream(context);
  const auto reader = stub->WatchRuns(&context, request);
  WatchRunsResponse response;
  int left = options.count > 0 ? options.count : -1;
  bool done = false;
  RunOutcome outcome = RUN_OUTCOME_OK;
  {
    const Canceller canceller(interrupt, context);
    while (!done && left != 0 && reader->Read(&response)) {
      if (!response.has_run()) continue;
      if (!until.empty() && response.run().id() != until) continue;
      if (options.json) {
        if (PrintJson(response) != kOk) return kFailed;
      } else {
        PrintRun(response.run());
        std::cout.flush();
      }
      done = response.run().id() == until;
      outcome = response.run().outcome();
      if (until.empty()) --left;
    }
  }
  context.TryCancel();
  const Status ended = ToStatus(reader->Finish());
  if (interrupt.requested()) return kInterrupted;
  if (!options.json && until.empty() && !response.resume_token().empty()) {
    std::cout << "go on: --page-token " << response.resume_token() << '\n';
  }
  if (done) return outcome == RUN_OUTCOME_OK || outcome == RUN_OUTCOME_PARTIAL ? kOk : kFailed;
  return left == 0 || ended.ok() ? kOk : Fail(ended);
}

int RunWatch(const SourceOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  return Follow(options, *remote, options.token, "", interrupt);
}

// The first answer of a watch says where it begins, so that no run ends before it is watched.
StatusOr<std::string> TokenOfNow(const Remote& remote, const std::string& source) {
  const auto stub = CollectorService::NewStub(remote.channel());
  WatchRunsRequest request;
  request.set_source_id(source);
  grpc::ClientContext context;
  remote.PrepareCall(context);
  const auto reader = stub->WatchRuns(&context, request);
  WatchRunsResponse response;
  const bool read = reader->Read(&response);
  context.TryCancel();
  const Status ended = ToStatus(reader->Finish());
  if (!read) return ended;
  return response.resume_token();
}

int RunNow(const SourceOptions& options, const Interrupt& interrupt) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const StatusOr<std::string> token = TokenOfNow(*remote, options.id);
  if (!token.ok()) return Fail(token.status());
  RunSourceRequest request;
  request.set_id(options.id);
  const auto response = Call(options, &Stub::RunSource, request);
  if (!response.ok()) return Fail(response.status());
  if (options.wait) return Follow(options, *remote, *token, response->run_id(), interrupt);
  if (options.json) return PrintJson(*response);
  std::cout << "run " << response->run_id() << '\n';
  return kOk;
}

using Body = int (*)(const SourceOptions&);

CLI::App* Add(CLI::App& group, const char* name, const char* help, const char* example,
              const std::shared_ptr<SourceOptions>& options) {
  CLI::App* command = group.add_subcommand(name, help);
  command->footer(std::string("Example:\n  winnow collect ") + example);
  command->add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(*command, options->remote);
  return command;
}

void AddPaging(CLI::App& command, SourceOptions& options) {
  command.add_option("--page-token", options.token, "go on from here");
  command.add_option("--count", options.count, "at most so many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
}

void Choose(CLI::App* command, const std::shared_ptr<SourceOptions>& options, Command& chosen,
            Body body) {
  command->callback([options, body, &chosen] {
    chosen = [options, body](const Interrupt&) { return body(*options); };
  });
}

void AddReads(CLI::App& group, Command& chosen) {
  auto sources = std::make_shared<SourceOptions>();
  CLI::App* list = Add(group, "sources", "sources and how they fare", "sources", sources);
  list->add_option("--namespace", sources->ns, "only of this namespace");
  AddPaging(*list, *sources);
  Choose(list, sources, chosen, RunSources);

  auto runs = std::make_shared<SourceOptions>();
  CLI::App* ended =
      Add(group, "runs", "runs that have ended, the last first", "runs climate", runs);
  ended->add_option("SOURCE", runs->id, "only of this source");
  AddPaging(*ended, *runs);
  Choose(ended, runs, chosen, RunRuns);

  auto quota = std::make_shared<SourceOptions>();
  CLI::App* left = Add(group, "quota", "calls of each credential", "quota naver", quota);
  left->add_option("CREDENTIAL", quota->id, "only of this one");
  Choose(left, quota, chosen, RunQuota);

  auto watch = std::make_shared<SourceOptions>();
  watch->count = 0;
  CLI::App* follow = Add(group, "watch", "runs as they end", "watch --json", watch);
  follow->add_option("SOURCE", watch->id, "only of this source");
  follow->add_option("--page-token", watch->token, "go on from here");
  follow->add_option("--count", watch->count, "end after so many")->check(CLI::Range(1, 1'000'000));
  follow->callback([watch, &chosen] {
    chosen = [watch](const Interrupt& interrupt) { return RunWatch(*watch, interrupt); };
  });
}

}  // namespace

void AddCollectSourceCommands(CLI::App& group, Command& chosen) {
  AddReads(group, chosen);

  auto run = std::make_shared<SourceOptions>();
  CLI::App* now = Add(group, "run", "run a source now", "run climate --wait", run);
  now->add_option("SOURCE", run->id, "id of the source")->required();
  now->add_flag("--wait", run->wait, "until it has ended; fails when the run did");
  now->callback([run, &chosen] {
    chosen = [run](const Interrupt& interrupt) { return RunNow(*run, interrupt); };
  });

  auto pause = std::make_shared<SourceOptions>();
  CLI::App* stop = Add(group, "pause", "let a source run no more", "pause climate", pause);
  stop->add_option("SOURCE", pause->id, "id of the source")->required();
  Choose(stop, pause, chosen,
         [](const SourceOptions& options) { return SetState(options, &Stub::PauseSource); });

  auto resume = std::make_shared<SourceOptions>();
  CLI::App* go = Add(group, "resume", "let a source run again", "resume climate", resume);
  go->add_option("SOURCE", resume->id, "id of the source")->required();
  Choose(go, resume, chosen,
         [](const SourceOptions& options) { return SetState(options, &Stub::ResumeSource); });

  auto opml = std::make_shared<SourceOptions>();
  CLI::App* import = Add(group, "import-opml", "a source for each feed of an OPML file",
                         "import-opml feeds.opml --folders", opml);
  import->add_option("FILE", opml->file, "the file")->required();
  import->add_option("--namespace", opml->ns, "namespace of their items");
  import->add_flag("--folders", opml->folders, "folders become categories");
  Choose(import, opml, chosen, RunImportOpml);
}

}  // namespace winnow::app
