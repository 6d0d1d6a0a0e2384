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
#include "services/app/commands/duplicates.h"
#include "services/app/commands/remote_options.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {
namespace {

using dedup::v1::CheckDocumentRequest;
using dedup::v1::CheckDocumentResponse;
using dedup::v1::CompareDocumentsRequest;
using dedup::v1::CompareDocumentsResponse;
using dedup::v1::DedupService;
using dedup::v1::Document;

struct DocumentOptions {
  RemoteOptions remote;
  std::string item_namespace;
  std::string title;
  std::string channel;
  std::string url;
  std::string text;
  std::string other_title;
  std::string other_url;
  bool json = false;
};

void PrintComparison(const CompareDocumentsResponse& response) {
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

int RunCompare(const DocumentOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = DedupService::NewStub(remote->channel());
  CompareDocumentsRequest request;
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
  CompareDocumentsResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const Status status = ToStatus(stub->CompareDocuments(&context, request, &response));
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response);
  PrintComparison(response);
  return kOk;
}

int RunCheck(const DocumentOptions& options) {
  auto remote = Remote::Connect(options.remote);
  if (!remote.ok()) return Fail(remote.status());
  const auto stub = DedupService::NewStub(remote->channel());
  CheckDocumentRequest request;
  Document& document = *request.mutable_document();
  document.set_namespace_(options.item_namespace);
  document.set_channel(options.channel);
  document.set_title(options.title);
  document.set_url(options.url);
  document.set_text(options.text);
  CheckDocumentResponse response;
  grpc::ClientContext context;
  remote->PrepareCall(context);
  const Status status = ToStatus(stub->CheckDocument(&context, request, &response));
  if (!status.ok()) return Fail(status);
  if (options.json) return PrintJson(response.decision());
  PrintDecision(response.decision());
  return kOk;
}

void AddCommon(CLI::App& command, const std::shared_ptr<DocumentOptions>& options) {
  command.add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  command.add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(command, options->remote);
}

void AddCompare(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<DocumentOptions>();
  CLI::App* command = group.add_subcommand("compare", "how similar two titles are, and why");
  command->footer(
      "Example:\n  winnow dedup compare '지하철 막차 30분 늦춘다' '[속보] 지하철 막차 30분 "
      "늦춘다'");
  command->add_option("EARLIER", options->title, "title of the earlier document")->required();
  command->add_option("LATER", options->other_title, "title of the later one")->required();
  command->add_option("--earlier-url", options->url, "its address");
  command->add_option("--later-url", options->other_url, "its address");
  AddCommon(*command, options);
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt&) { return RunCompare(*options); };
  });
}

void AddCheck(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<DocumentOptions>();
  options->channel = "winnow-cli";
  CLI::App* command = group.add_subcommand("check", "would a document be a duplicate now?");
  command->footer(
      "Example:\n  winnow dedup check 'Night ferry gets a second boat' --channel my-blog");
  command->add_option("TITLE", options->title, "title of the document")->required();
  command->add_option("--channel", options->channel, "its outlet")->capture_default_str();
  command->add_option("--url", options->url, "its address");
  command->add_option("--text", options->text, "its lead or body");
  AddCommon(*command, options);
  command->callback(
      [options, &chosen] { chosen = [options](const Interrupt&) { return RunCheck(*options); }; });
}

void AddDuplicates(CLI::App& group, Command& chosen) {
  auto options = std::make_shared<DuplicatesOptions>();
  CLI::App* command =
      group.add_subcommand("duplicates", "who repeated an item, or the newest ones");
  command->footer("Examples:\n  winnow dedup duplicates\n  winnow dedup duplicates ID --json");
  command->add_option("ID", options->id,
                      "id of the original; without it, those of the feed's newest articles");
  command->add_option("--count", options->count, "originals, or duplicates of the one, at most")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--namespace", options->item_namespace, "namespace (default: \"default\")");
  command->add_flag("--json", options->json, "print the API's JSON");
  AddRemoteOptions(*command, options->remote);
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt&) { return RunDuplicates(*options); };
  });
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
