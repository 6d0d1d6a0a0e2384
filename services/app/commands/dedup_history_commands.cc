#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <iostream>
#include <memory>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
#include "services/app/commands/dedup_print.h"
#include "services/app/commands/dedup_tail.h"
#include "services/app/commands/remote_options.h"
#include "services/platform/base/clock.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using dedup::v1::DedupService;

struct HistoryOptions {
  RemoteOptions remote;
  std::string item_namespace;
  int hours = 24;
  int count = 10;
  bool json = false;
};

struct PreviewOptions {
  RemoteOptions remote;
  std::string item_namespace;
  double token_threshold = 0;
  double candidate_floor = 0;
  double chain_floor = 0;
  int window_hours = 0;
  bool same_channel = false;
  int max_documents = 0;
  bool json = false;
};

// One call on a new connection.
template <class Request, class Response>
Status Call(const RemoteOptions& options,
            grpc::Status (DedupService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
            const Request& request, Response& response) {
  auto remote = Remote::Connect(options);
  if (!remote.ok()) return remote.status();
  const auto stub = DedupService::NewStub(remote->channel());
  grpc::ClientContext context;
  remote->PrepareCall(context);
  return ToStatus((stub.get()->*method)(&context, request, &response));
}

template <class Request>
void SetRange(const HistoryOptions& options, Request& request) {
  request.set_namespace_(options.item_namespace);
  const Time now = SystemClock().Now();
  *request.mutable_from_time() = ToTimestamp(now - std::chrono::hours(options.hours));
  *request.mutable_until_time() = ToTimestamp(now);
}

int RunTop(const HistoryOptions& options) {
  dedup::v1::ListTopCitedRequest request;
  SetRange(options, request);
  request.set_page_size(options.count);
  dedup::v1::ListTopCitedResponse response;
  const Status status = Call(options.remote, &DedupService::Stub::ListTopCited, request, response);
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  if (response.originals().empty()) std::cout << "nothing was repeated\n";
  for (const auto& original : response.originals()) {
    std::cout << original.channel_count() << " channels, " << original.duplicate_count()
              << " repeats  " << Printable(original.original_id()) << " of "
              << Printable(original.channel()) << "  " << ShortTime(original.arrival_time()) << "  "
              << Printable(original.url()) << '\n';
  }
  return kOk;
}

void PrintEstimate(const char* what, const dedup::v1::ErrorEstimate& estimate) {
  std::cout << "  " << what << ": ";
  if (estimate.reviewed_count() == 0) {
    std::cout << "unknown: no sampled decision was reviewed of " << estimate.decision_count()
              << '\n';
    return;
  }
  std::cout << estimate.rate() * 100 << " % (" << estimate.rate_low() * 100 << " to "
            << estimate.rate_high() * 100 << " %), " << estimate.reviewed_count() << " looked at\n";
}

void PrintEmbedder(const dedup::v1::ServerStats& server) {
  if (!server.has_embedder()) return;
  const auto& model = server.embedder();
  std::cout << "  meaning by " << Printable(model.model())
            << (server.embedder_down() ? ", which is unavailable" : "")
            << ": random pairs have cosine " << model.random_cosine() << ", pairs of one story "
            << model.match_cosine() << " or more; " << WithCommas(server.embedding_miss_count())
            << " texts asked for, " << WithCommas(server.embedding_hit_count()) << " known, "
            << WithCommas(server.embedder_fallback_count()) << " documents without\n";
}

int RunStats(const HistoryOptions& options) {
  dedup::v1::GetStatsRequest request;
  SetRange(options, request);
  dedup::v1::GetStatsResponse response;
  const Status status = Call(options.remote, &DedupService::Stub::GetStats, request, response);
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  std::cout << WithCommas(response.document_count()) << " documents, "
            << WithCommas(response.duplicate_count()) << " duplicates\n";
  for (const auto& stage : response.stages()) {
    const bool is_unique = stage.stage() == dedup::v1::STAGE_UNSPECIFIED;
    std::cout << "  " << (is_unique ? "unique" : "by " + StageName(stage.stage())) << "  "
              << WithCommas(stage.document_count()) << '\n';
  }
  PrintEstimate("duplicates that are none", response.false_positives());
  PrintEstimate("unique ones that repeat", response.false_negatives());
  PrintEmbedder(response.server());
  int shown = 0;
  for (const auto& channel : response.channels()) {
    if (++shown > options.count) break;
    std::cout << "  " << Printable(channel.channel()) << "  "
              << WithCommas(channel.document_count()) << ", duplicates "
              << WithCommas(channel.duplicate_count()) << ", first with "
              << WithCommas(channel.first_count()) << " stories\n";
  }
  return kOk;
}

dedup::v1::PreviewPolicyRequest ToRequest(const PreviewOptions& options, const CLI::App& command) {
  dedup::v1::PreviewPolicyRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_max_documents(options.max_documents);
  dedup::v1::Policy& policy = *request.mutable_policy();
  const auto change = [&](const char* option, const char* field) {
    const bool is_asked = command.count(option) > 0;
    if (is_asked) request.mutable_update_mask()->add_paths(field);
    return is_asked;
  };
  if (change("--token-threshold", "token_threshold")) {
    policy.set_token_threshold(options.token_threshold);
  }
  if (change("--candidate-floor", "candidate_floor")) {
    policy.set_candidate_floor(options.candidate_floor);
  }
  if (change("--chain-floor", "chain_floor")) policy.set_chain_floor(options.chain_floor);
  if (change("--window-hours", "window")) {
    *policy.mutable_window() = ToDuration(std::chrono::hours(options.window_hours));
  }
  if (change("--same-channel", "same_channel")) policy.set_same_channel(options.same_channel);
  return request;
}

int RunPreview(const PreviewOptions& options, const dedup::v1::PreviewPolicyRequest& request) {
  dedup::v1::PreviewPolicyResponse response;
  const Status status = Call(options.remote, &DedupService::Stub::PreviewPolicy, request, response);
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  std::cout << WithCommas(response.document_count())
            << " documents decided again: " << WithCommas(response.duplicate_count_before())
            << " duplicates now, " << WithCommas(response.duplicate_count_after()) << " then\n  "
            << WithCommas(response.newly_duplicate_count()) << " more, "
            << WithCommas(response.newly_unique_count()) << " fewer, "
            << WithCommas(response.other_original_count()) << " of another original\n";
  for (const auto& change : response.changes()) {
    std::cout << "  " << Printable(change.document_id()) << " of " << Printable(change.channel())
              << ": " << VerdictName(change.verdict_before()) << ' '
              << Printable(change.original_id_before()) << " -> "
              << VerdictName(change.verdict_after()) << ' '
              << Printable(change.original_id_after());
    if (change.verdict_after() == dedup::v1::VERDICT_DUPLICATE) {
      std::cout << " by " << StageName(change.stage_after()) << ", similarity "
                << change.similarity_after();
    }
    std::cout << '\n';
  }
  return kOk;
}

template <class Options>
void AddCommon(CLI::App& command, const std::shared_ptr<Options>& options) {
  command.add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  command.add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(command, options->remote);
}

using RunHistory = int (*)(const HistoryOptions&);

CLI::App* AddHistory(CLI::App& group, const char* name, const char* help, RunHistory run,
                     Command& chosen) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = group.add_subcommand(name, help);
  command->add_option("--hours", options->hours, "how far back")
      ->capture_default_str()
      ->check(CLI::Range(1, 24 * 31));
  command->add_option("--count", options->count, "lines, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  AddCommon(*command, options);
  command->callback([options, run, &chosen] {
    chosen = [options, run](const Interrupt&) { return run(*options); };
  });
  return command;
}

void AddTail(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<TailOptions>();
  CLI::App* command = group.add_subcommand("tail", "decisions as they are made, until Ctrl-C");
  command->footer("Examples:\n  winnow dedup tail --duplicates\n  winnow dedup tail --json | jq .");
  command->add_flag("--duplicates", options->only_duplicates, "duplicates alone");
  command->add_option("--count", options->count, "stop after so many decisions (0: never)")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--resume-token", options->resume_token, "go on from here");
  AddCommon(*command, options);
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt& interrupt) { return RunTail(*options, interrupt); };
  });
}

void AddPreview(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<PreviewOptions>();
  CLI::App* command = group.add_subcommand("preview", "what other rules would change");
  command->footer("Example:\n  winnow dedup preview --token-threshold 0.7");
  command->add_option("--token-threshold", options->token_threshold, "title similarity");
  command->add_option("--candidate-floor", options->candidate_floor, "of candidates");
  command->add_option("--chain-floor", options->chain_floor, "to a duplicate's own original");
  command->add_option("--window-hours", options->window_hours, "hours of the window");
  command->add_option("--same-channel", options->same_channel, "compare within a channel too");
  command->add_option("--documents", options->max_documents, "the newest ones, at most");
  AddCommon(*command, options);
  command->callback([options, command, &chosen] {
    const auto request = ToRequest(*options, *command);
    chosen = [options, request](const Interrupt&) { return RunPreview(*options, request); };
  });
}

}  // namespace

void AddDedupHistoryCommands(CLI::App& group, Command& chosen) {
  AddHistory(group, "top", "what was repeated most", RunTop, chosen)
      ->footer("Example:\n  winnow dedup top --hours 6 --count 20");
  AddHistory(group, "stats", "how much is repeated, by whom, and how often that is wrong", RunStats,
             chosen)
      ->footer("Example:\n  winnow dedup stats --hours 1 --json");
  AddTail(group, chosen);
  AddPreview(group, chosen);
}

}  // namespace winnow::app
