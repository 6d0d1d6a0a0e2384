#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/verb.h"
#include "services/app/import/import_run.h"
#include "services/app/import/report.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/text.h"

namespace winnow::app {
namespace {

struct ImportOptions : VerbOptions {
  std::string file;
  std::string item_namespace = "default";
  std::string checkpoint;
  bool restart = false;
  bool create_categories = false;
  double decision_timeout_seconds = 60;
};

constexpr const char* kFooter =
    R"(Each line is a JSON object: url, title, snippet, channel, channel_name, categories,
published_at (also taken as arrival time), external_id, language, image_url, channel_icon_url,
video_url, keywords, ai_tags. source_name is read as channel_name where that is absent. Other fields
are ignored, and reported with the field that they may have been meant as; they do not change the
exit code. gzip is recognised by its bytes. Lines that cannot go in are counted and the first ones
shown; the rest goes in. Importing again changes nothing. After Ctrl-C or a crash the same command
goes on where it was; the report of fields covers the lines that this run read.

Examples:
  winnow import samples/items-ko-en.jsonl --create-categories
  winnow import news.jsonl.gz --namespace demo --json
  zcat part-*.gz | winnow import - --namespace demo

Exit codes: 0 all lines went in; 1 failed, or the file is damaged: what came before that is in; 2
wrong call; 3 no server; 4 went in, except refused lines; 130 interrupted.)";

ImportIdentity MakeIdentity(const ImportOptions& options) {
  ImportIdentity identity;
  identity.address = options.remote.address;
  identity.item_namespace = options.item_namespace;
  if (options.file == "-") {
    identity.file = "-";
    return identity;
  }
  std::error_code error;
  identity.file = std::filesystem::absolute(options.file, error).lexically_normal().string();
  struct stat info = {};
  if (stat(options.file.c_str(), &info) == 0) {
    identity.file_bytes = info.st_size;
    identity.file_modified_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  }
  return identity;
}

// Standard input has no name to be recognised by: a checkpoint of it is only kept where asked for.
std::string CheckpointPath(const ImportOptions& options, const ImportIdentity& identity) {
  if (!options.checkpoint.empty() || options.file == "-") return options.checkpoint;
  return DefaultCheckpointPath(identity).value_or("");
}

Checkpoint Begin(const ImportOptions& options, const ImportIdentity& identity,
                 const std::string& path) {
  if (!path.empty() && !options.restart) {
    if (auto found = ReadCheckpoint(path, identity)) {
      std::cerr << "going on after line " << found->last_line << " (--restart begins anew)\n";
      return *std::move(found);
    }
  }
  Checkpoint fresh;
  fresh.identity = identity;
  fresh.began = SystemClock().Now();
  return fresh;
}

int Conclude(const ImportOptions& options, const ImportRun& run, const Status& status,
             const std::string& checkpoint_path, std::chrono::duration<double> time) {
  const Tally tally = run.books().tally;
  if (options.json) {
    PrintJsonReport(tally, run.fields(), time);
  } else {
    PrintReport(options.file, tally, run.fields(), time);
  }
  const Status& source = run.source_status();
  const bool damaged = !source.ok() && source.code() != StatusCode::kCancelled;
  if (damaged) {
    std::cerr << "winnow: " << Message(source) << ". Before that came " << WithCommas(tally.lines)
              << " lines, of which " << WithCommas(tally.lines - tally.refused()) << " are in.\n";
  }
  if (!status.ok()) {
    const int code = Fail(status);
    if (!checkpoint_path.empty()) std::cerr << "The same command resumes from here.\n";
    return code == kUsage ? kFailed : code;  // the server's refusal is not a wrong call
  }
  if (damaged) return kFailed;
  return tally.refused() > 0 ? kPartlyRefused : kOk;
}

StatusOr<int> RunImport(const ImportOptions& options, const Interrupt& interrupt) {
  if (!IsSlug(options.item_namespace)) {
    std::cerr << "winnow: --namespace '" << options.item_namespace
              << "' must be 1 to 64 of a-z, 0-9 and '-'\n";
    return kUsage;
  }
  WINNOW_RETURN_IF_ERROR(CheckMayReplace(options.checkpoint));
  auto source = ByteSource::Open(options.file, interrupt);
  if (!source.ok()) {
    Fail(source.status());
    return kUsage;
  }
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options.remote));
  const auto begun = std::chrono::steady_clock::now();
  const ImportIdentity identity = MakeIdentity(options);
  const std::string checkpoint_path = CheckpointPath(options, identity);
  ImportSettings settings;
  settings.title = std::filesystem::path(options.file).filename().string();
  settings.item_namespace = options.item_namespace;
  settings.checkpoint_path = checkpoint_path;
  settings.create_categories = options.create_categories;
  settings.decision_limit =
      std::chrono::milliseconds(std::llround(options.decision_timeout_seconds * 1000));
  ImportRun run(settings, remote, interrupt, **source, Begin(options, identity, checkpoint_path));
  const Status status = run.Run();
  return Conclude(options, run, status, checkpoint_path, std::chrono::steady_clock::now() - begun);
}

}  // namespace

void AddImportCommand(CLI::App& app, Command& chosen) {
  auto [command, options] =
      AddVerb(app, chosen, "import", "put the lines of a file into a running server", RunImport);
  command.footer(kFooter);
  command.add_option("FILE", options.file, ".jsonl or .jsonl.gz, or - for standard input")
      ->required();
  command.add_option("--namespace", options.item_namespace, "namespace of the items")
      ->capture_default_str();
  command.add_flag("--create-categories", options.create_categories,
                   "create the feed categories that items name");
  command.add_option("--checkpoint", options.checkpoint,
                     "where to note how far it came (default: in the user's state directory)");
  command.add_flag("--restart", options.restart,
                   "begin at the first line and ignore the stored progress");
  command
      .add_option("--decision-timeout", options.decision_timeout_seconds,
                  "seconds without any decision after which to give up")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
}

}  // namespace winnow::app
