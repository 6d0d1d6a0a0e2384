#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/verb.h"
#include "services/platform/base/ascii.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::app {
namespace {

using namespace collector::v1;  // NOLINT(google-build-using-namespace): this file's subject
using Collector = Client<CollectorService>;
using Stub = Collector::Stub;

struct SourceOptions : VerbOptions {
  std::string ns;
  std::string id;
  std::string file;
  std::string token;
  int count = 20;
  bool folders = false;
  bool wait = false;
};

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

StatusOr<int> RunSources(const SourceOptions& options, const Interrupt&) {
  ListSourcesRequest request;
  request.set_namespace_(options.ns);
  request.set_page_size(options.count);
  request.set_page_token(options.token);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, &Stub::ListSources, request));
  if (options.json) return PrintJson(response);
  for (const Source& source : response.sources()) {
    std::cout << Printable(source.id()) << "  " << Show(source.state()) << "  "
              << Printable(What(source)) << "  every " << source.interval().seconds() << " s, last "
              << (source.has_last_success_time() ? ShortTime(source.last_success_time()) : "never");
    if (source.failures() > 0) std::cout << ", " << source.failures() << " failures since";
    std::cout << '\n';
  }
  if (response.sources().empty()) std::cout << "no sources\n";
  PrintNextPage(response.next_page_token());
  return kOk;
}

StatusOr<int> RunRuns(const SourceOptions& options, const Interrupt&) {
  ListRunsRequest request;
  request.set_source_id(options.id);
  request.set_page_size(options.count);
  request.set_page_token(options.token);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, &Stub::ListRuns, request));
  if (options.json) return PrintJson(response);
  for (const Run& run : response.runs()) PrintRun(run);
  if (response.runs().empty()) std::cout << "no runs\n";
  PrintNextPage(response.next_page_token());
  return kOk;
}

StatusOr<int> RunQuota(const SourceOptions& options, const Interrupt&) {
  GetQuotaRequest request;
  request.set_credential(options.id);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, &Stub::GetQuota, request));
  if (options.json) return PrintJson(response);
  for (const Quota& quota : response.quotas()) {
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
  if (response.quotas().empty()) std::cout << "no credentials are configured\n";
  return kOk;
}

StatusOr<int> RunImportOpml(const SourceOptions& options, const Interrupt&) {
  std::ifstream in(options.file, std::ios::binary);
  if (!in) return InvalidField("FILE", "cannot be read: " + options.file);
  ImportOpmlRequest request;
  request.set_namespace_(options.ns);
  request.set_folders_as_categories(options.folders);
  request.set_opml(
      std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, &Stub::ImportOpml, request));
  if (options.json) return PrintJson(response);
  std::cout << response.created_count() << " sources created, " << response.known_count()
            << " known, " << response.refused_count() << " refused\n";
  for (const auto& one : response.refused()) {
    std::cerr << "refused: " << Printable(one.url()) << "  " << Printable(one.title()) << ": "
              << one.reason() << '\n';
  }
  return response.refused_count() > 0 ? kPartlyRefused : kOk;
}

template <class Request, class Response>
StatusOr<int> SetState(const SourceOptions& options, Collector::Unary<Request, Response> method) {
  Request request;
  request.set_id(options.id);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<CollectorService>(options.remote, method, request));
  if (options.json) return PrintJson(response);
  std::cout << Printable(response.source().id()) << "  " << Show(response.source().state()) << '\n';
  return kOk;
}

// Prints runs as they end: `count` of them, or until the one of this id was there.
StatusOr<int> Follow(const SourceOptions& options, const Collector& server,
                     const std::string& token, const std::string& until,
                     const Interrupt& interrupt) {
  WatchRunsRequest request;
  request.set_source_id(options.id);
  request.set_resume_token(token);
  int left = options.count > 0 ? options.count : -1;
  std::string resume_token;
  std::optional<RunOutcome> outcome;  // of the run that is waited for
  int printed = kOk;
  const auto print = [&](const WatchRunsResponse& response) {
    resume_token = response.resume_token();
    const Run& run = response.run();
    if (!response.has_run() || (!until.empty() && run.id() != until)) return true;
    if (options.json) {
      printed = PrintJson(response);
    } else {
      PrintRun(run);
      std::cout.flush();
    }
    if (run.id() == until) outcome = run.outcome();
    if (until.empty()) --left;
    return printed == kOk && !outcome && left != 0;
  };
  const Status ended = server.Follow(&Stub::WatchRuns, request, interrupt, print);
  if (printed != kOk) return printed;
  if (interrupt.requested()) return kInterrupted;
  if (!options.json && until.empty() && !resume_token.empty()) {
    std::cout << "go on: --page-token " << resume_token << '\n';
  }
  WINNOW_RETURN_IF_ERROR(ended);
  const bool is_good = !outcome || *outcome == RUN_OUTCOME_OK || *outcome == RUN_OUTCOME_PARTIAL;
  return is_good ? kOk : kFailed;
}

StatusOr<int> RunWatch(const SourceOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Collector server, Collector::Connect(options.remote));
  return Follow(options, server, options.token, "", interrupt);
}

// The first answer of a watch says where it begins, so that no run ends before it is watched.
StatusOr<std::string> TokenOfNow(const Collector& server, const std::string& source,
                                 const Interrupt& interrupt) {
  WatchRunsRequest request;
  request.set_source_id(source);
  std::string token;
  WINNOW_RETURN_IF_ERROR(
      server.Follow(&Stub::WatchRuns, request, interrupt, [&](const WatchRunsResponse& first) {
        token = first.resume_token();
        return false;
      }));
  return token;
}

StatusOr<int> RunNow(const SourceOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Collector server, Collector::Connect(options.remote));
  WINNOW_ASSIGN_OR_RETURN(const std::string token, TokenOfNow(server, options.id, interrupt));
  RunSourceRequest request;
  request.set_id(options.id);
  WINNOW_ASSIGN_OR_RETURN(const auto response, server.Call(&Stub::RunSource, request));
  if (options.wait) return Follow(options, server, token, response.run_id(), interrupt);
  if (options.json) return PrintJson(response);
  std::cout << "run " << response.run_id() << '\n';
  return kOk;
}

StatusOr<int> RunPause(const SourceOptions& options, const Interrupt&) {
  return SetState(options, &Stub::PauseSource);
}

StatusOr<int> RunResume(const SourceOptions& options, const Interrupt&) {
  return SetState(options, &Stub::ResumeSource);
}

Verb<SourceOptions> Add(CLI::App& group, Command& chosen, const char* name, const char* help,
                        const char* example, RunVerb<SourceOptions> run) {
  const auto verb = AddVerb(group, chosen, name, help, run);
  verb.command.footer(std::string("Example:\n  winnow collect ") + example);
  return verb;
}

void AddPaging(CLI::App& command, SourceOptions& options) {
  AddPageToken(command, options.token);
  AddCount(command, options.count, 1000, "at most so many");
}

void AddReads(CLI::App& group, Command& chosen) {
  auto [sources, source] =
      Add(group, chosen, "sources", "sources and how they fare", "sources", RunSources);
  sources.add_option("--namespace", source.ns, "only of this namespace");
  AddPaging(sources, source);

  auto [runs, ended] =
      Add(group, chosen, "runs", "runs that have ended, the last first", "runs climate", RunRuns);
  runs.add_option("SOURCE", ended.id, "only of this source");
  AddPaging(runs, ended);

  auto [quota, left] =
      Add(group, chosen, "quota", "calls of each credential", "quota naver", RunQuota);
  quota.add_option("CREDENTIAL", left.id, "only of this one");

  auto [watch, watched] = Add(group, chosen, "watch", "runs as they end", "watch --json", RunWatch);
  watched.count = 0;
  watch.add_option("SOURCE", watched.id, "only of this source");
  AddPageToken(watch, watched.token);
  watch.add_option("--count", watched.count, "end after so many")->check(CLI::Range(1, 1'000'000));
}

}  // namespace

void AddCollectSourceCommands(CLI::App& group, Command& chosen) {
  AddReads(group, chosen);

  auto [run, now] = Add(group, chosen, "run", "run a source now", "run climate --wait", RunNow);
  run.add_option("SOURCE", now.id, "id of the source")->required();
  run.add_flag("--wait", now.wait, "until it has ended; fails when the run did");

  auto [pause, paused] =
      Add(group, chosen, "pause", "let a source run no more", "pause climate", RunPause);
  pause.add_option("SOURCE", paused.id, "id of the source")->required();

  auto [resume, resumed] =
      Add(group, chosen, "resume", "let a source run again", "resume climate", RunResume);
  resume.add_option("SOURCE", resumed.id, "id of the source")->required();

  auto [import, opml] = Add(group, chosen, "import-opml", "a source for each feed of an OPML file",
                            "import-opml feeds.opml --folders", RunImportOpml);
  import.add_option("FILE", opml.file, "the file")->required();
  import.add_option("--namespace", opml.ns, "namespace of their items");
  import.add_flag("--folders", opml.folders, "folders become categories");
}

}  // namespace winnow::app
