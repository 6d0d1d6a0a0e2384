#include <poll.h>

#include <iostream>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/dedup_print.h"
#include "services/app/commands/verb.h"
#include "services/platform/base/clock.h"
#include "services/platform/proto/timestamp.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using dedup::v1::DedupService;
using dedup::v1::WatchDecisionsRequest;
using dedup::v1::WatchDecisionsResponse;
using Stub = DedupService::Stub;

constexpr int kWaitBeforeTryMs = 500;
constexpr int kMaxTries = 60;  // in a row without a message

struct HistoryOptions : VerbOptions {
  std::string item_namespace;
  int hours = 24;
  int count = 10;
};

// Absent: as the policy in force has it.
struct PreviewOptions : VerbOptions {
  std::string item_namespace;
  std::optional<double> token_threshold;
  std::optional<double> candidate_floor;
  std::optional<double> chain_floor;
  std::optional<int> window_hours;
  std::optional<bool> same_channel;
  int max_documents = 0;
};

struct TailOptions : VerbOptions {
  std::string item_namespace;
  std::string resume_token;
  int count = 0;  // decisions after which it ends; 0: never
  bool only_duplicates = false;
};

template <class Request>
void SetRange(const HistoryOptions& options, Request& request) {
  request.set_namespace_(options.item_namespace);
  const Time now = SystemClock().Now();
  *request.mutable_from_time() = ToTimestamp(now - std::chrono::hours(options.hours));
  *request.mutable_until_time() = ToTimestamp(now);
}

StatusOr<int> RunTop(const HistoryOptions& options, const Interrupt&) {
  dedup::v1::ListTopCitedRequest request;
  SetRange(options, request);
  request.set_page_size(options.count);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<DedupService>(options.remote, &Stub::ListTopCited, request));
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

StatusOr<int> RunStats(const HistoryOptions& options, const Interrupt&) {
  dedup::v1::GetStatsRequest request;
  SetRange(options, request);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<DedupService>(options.remote, &Stub::GetStats, request));
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

dedup::v1::PreviewPolicyRequest ToRequest(const PreviewOptions& options) {
  dedup::v1::PreviewPolicyRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_max_documents(options.max_documents);
  dedup::v1::Policy& policy = *request.mutable_policy();
  const auto change = [&](const char* field, const auto& value, const auto& set) {
    if (!value) return;
    request.mutable_update_mask()->add_paths(field);
    set(*value);
  };
  change("token_threshold", options.token_threshold,
         [&](double value) { policy.set_token_threshold(value); });
  change("candidate_floor", options.candidate_floor,
         [&](double value) { policy.set_candidate_floor(value); });
  change("chain_floor", options.chain_floor, [&](double value) { policy.set_chain_floor(value); });
  change("window", options.window_hours,
         [&](int hours) { *policy.mutable_window() = ToDuration(std::chrono::hours(hours)); });
  change("same_channel", options.same_channel, [&](bool value) { policy.set_same_channel(value); });
  return request;
}

StatusOr<int> RunPreview(const PreviewOptions& options, const Interrupt&) {
  WINNOW_ASSIGN_OR_RETURN(
      const auto response,
      CallOnce<DedupService>(options.remote, &Stub::PreviewPolicy, ToRequest(options)));
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

// Returns false once no more are to be printed.
bool PrintDecisions(const TailOptions& options, const WatchDecisionsResponse& response,
                    int& shown) {
  if (response.has_gap()) std::cerr << "decisions are missing: " << response.gap().reason() << '\n';
  for (const auto& decision : response.decisions()) {
    const bool is_printed = options.json ? PrintJson(decision) == kOk : PrintDecisionLine(decision);
    if (!is_printed || ++shown == options.count) return false;
  }
  return true;
}

// Prints decisions as they are made, until interrupted; resumes after the server was away.
StatusOr<int> RunTail(const TailOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const auto server, Client<DedupService>::Connect(options.remote));
  WatchDecisionsRequest request;
  request.set_namespace_(options.item_namespace);
  request.set_resume_token(options.resume_token);
  if (options.only_duplicates) request.set_verdict(dedup::v1::VERDICT_DUPLICATE);
  int shown = 0;
  int tries = 0;
  bool is_finished = false;
  const auto print = [&](const WatchDecisionsResponse& response) {
    tries = 0;
    request.set_resume_token(response.resume_token());
    is_finished = !PrintDecisions(options, response, shown);
    return !is_finished;
  };
  while (true) {
    const Status status = server.Follow(&Stub::WatchDecisions, request, interrupt, print);
    if (is_finished) return kOk;
    if (interrupt.requested()) {
      std::cerr << "go on with --resume-token " << request.resume_token() << '\n';
      return kInterrupted;
    }
    if (!IsTransient(status) || ++tries > kMaxTries) return Fail(status);
    pollfd signal{interrupt.fd(), POLLIN, 0};
    ::poll(&signal, 1, kWaitBeforeTryMs);
  }
}

CLI::App& AddHistory(CLI::App& group, Command& chosen, const char* name, const char* help,
                     RunVerb<HistoryOptions> run) {
  auto [command, options] = AddVerb(group, chosen, name, help, run);
  command.add_option("--hours", options.hours, "how far back")
      ->capture_default_str()
      ->check(CLI::Range(1, 24 * 31));
  AddCount(command, options.count, 100, "lines, at most");
  AddNamespace(command, options.item_namespace);
  return command;
}

void AddTail(CLI::App& group, Command& chosen) {
  auto [tail, options] =
      AddVerb(group, chosen, "tail", "decisions as they are made, until Ctrl-C", RunTail);
  tail.footer("Examples:\n  winnow dedup tail --duplicates\n  winnow dedup tail --json | jq .");
  tail.add_flag("--duplicates", options.only_duplicates, "duplicates alone");
  AddEndAfter(tail, options.count, "stop after so many decisions (0: never)");
  tail.add_option("--resume-token", options.resume_token, "go on from here");
  AddNamespace(tail, options.item_namespace);
}

void AddPreview(CLI::App& group, Command& chosen) {
  auto [preview, options] =
      AddVerb(group, chosen, "preview", "what other rules would change", RunPreview);
  preview.footer("Example:\n  winnow dedup preview --token-threshold 0.7");
  preview.add_option("--token-threshold", options.token_threshold, "title similarity");
  preview.add_option("--candidate-floor", options.candidate_floor, "of candidates");
  preview.add_option("--chain-floor", options.chain_floor, "to a duplicate's own original");
  preview.add_option("--window-hours", options.window_hours, "hours of the window");
  preview.add_option("--same-channel", options.same_channel, "compare within a channel too");
  preview.add_option("--documents", options.max_documents, "the newest ones, at most");
  AddNamespace(preview, options.item_namespace);
}

}  // namespace

void AddDedupHistoryCommands(CLI::App& group, Command& chosen) {
  AddHistory(group, chosen, "top", "what was repeated most", RunTop)
      .footer("Example:\n  winnow dedup top --hours 6 --count 20");
  AddHistory(group, chosen, "stats", "how much is repeated, by whom, and how often that is wrong",
             RunStats)
      .footer("Example:\n  winnow dedup stats --hours 1 --json");
  AddTail(group, chosen);
  AddPreview(group, chosen);
}

}  // namespace winnow::app
