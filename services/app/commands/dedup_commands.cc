#include <iostream>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/dedup_duplicates.h"
#include "services/app/commands/dedup_print.h"
#include "services/app/commands/verb.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using dedup::v1::DedupService;
using dedup::v1::Document;
using Stub = DedupService::Stub;

struct DocumentOptions : VerbOptions {
  std::string item_namespace;
  std::string title;
  std::string channel = "winnow-cli";
  std::string url;
  std::string text;
  std::string other_title;
  std::string other_url;
};

void PrintComparison(const dedup::v1::CompareDocumentsResponse& response) {
  std::cout << VerdictName(response.verdict()) << ": " << Printable(response.explanation()) << '\n';
  for (const auto& stage : response.stages()) {
    std::cout << "  " << StageName(stage.stage()) << (stage.matched() ? "  matches" : "  differs")
              << "  similarity " << stage.similarity() << ", needs " << stage.threshold() << "  "
              << Printable(stage.detail()) << '\n';
  }
  for (const int guard : response.guards()) {
    std::cout << "  guard " << dedup::v1::Guard_Name(static_cast<dedup::v1::Guard>(guard)) << '\n';
  }
  const auto& scores = response.scores();
  std::cout << "  title jaccard " << scores.title_jaccard() << ", cosine " << scores.title_cosine()
            << ", overlap " << scores.title_overlap() << ", characters "
            << scores.character_jaccard() << '\n'
            << "  compared as: " << Printable(response.earlier_normalized_title()) << '\n'
            << "               " << Printable(response.later_normalized_title()) << '\n';
}

StatusOr<int> RunCompare(const DocumentOptions& options, const Interrupt&) {
  dedup::v1::CompareDocumentsRequest request;
  Document& earlier = *request.mutable_earlier();
  earlier.set_namespace_(options.item_namespace);
  earlier.set_channel("earlier");  // two outlets: within one, policy may compare addresses only
  earlier.set_title(options.title);
  earlier.set_url(options.url);
  Document& later = *request.mutable_later();
  later.set_namespace_(options.item_namespace);
  later.set_channel("later");
  later.set_title(options.other_title);
  later.set_url(options.other_url);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<DedupService>(options.remote, &Stub::CompareDocuments, request));
  if (options.json) return PrintJson(response);
  PrintComparison(response);
  return kOk;
}

StatusOr<int> RunCheck(const DocumentOptions& options, const Interrupt&) {
  dedup::v1::CheckDocumentRequest request;
  Document& document = *request.mutable_document();
  document.set_namespace_(options.item_namespace);
  document.set_channel(options.channel);
  document.set_title(options.title);
  document.set_url(options.url);
  document.set_text(options.text);
  WINNOW_ASSIGN_OR_RETURN(const auto response,
                          CallOnce<DedupService>(options.remote, &Stub::CheckDocument, request));
  if (options.json) return PrintJson(response.decision());
  PrintDecision(response.decision());
  return kOk;
}

void AddCompare(CLI::App& group, Command& chosen) {
  auto [compare, options] =
      AddVerb(group, chosen, "compare", "how similar two titles are, and why", RunCompare);
  compare.footer(
      "Example:\n  winnow dedup compare '지하철 막차 30분 늦춘다' '[속보] 지하철 막차 30분 "
      "늦춘다'");
  compare.add_option("EARLIER", options.title, "title of the earlier document")->required();
  compare.add_option("LATER", options.other_title, "title of the later one")->required();
  compare.add_option("--earlier-url", options.url, "its address");
  compare.add_option("--later-url", options.other_url, "its address");
  AddNamespace(compare, options.item_namespace);
}

void AddCheck(CLI::App& group, Command& chosen) {
  auto [check, options] =
      AddVerb(group, chosen, "check", "would a document be a duplicate now?", RunCheck);
  check.footer("Example:\n  winnow dedup check 'Night ferry gets a second boat' --channel my-blog");
  check.add_option("TITLE", options.title, "title of the document")->required();
  check.add_option("--channel", options.channel, "its outlet")->capture_default_str();
  check.add_option("--url", options.url, "its address");
  check.add_option("--text", options.text, "its lead or body");
  AddNamespace(check, options.item_namespace);
}

void AddDuplicates(CLI::App& group, Command& chosen) {
  auto [duplicates, options] = AddVerb(group, chosen, "duplicates",
                                       "who repeated an item, or the newest ones", RunDuplicates);
  duplicates.footer("Examples:\n  winnow dedup duplicates\n  winnow dedup duplicates ID --json");
  duplicates.add_option("ID", options.id,
                        "id of the original; without it, those of the feed's newest articles");
  AddCount(duplicates, options.count, 1000, "originals, or duplicates of the one, at most");
  AddNamespace(duplicates, options.item_namespace);
}

}  // namespace

void AddDedupCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("dedup", "ask about duplicates");
  group->require_subcommand(1);
  AddCompare(*group, chosen);
  AddCheck(*group, chosen);
  AddDuplicates(*group, chosen);
  AddDedupHistoryCommands(*group, chosen);
}

}  // namespace winnow::app
