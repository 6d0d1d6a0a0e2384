#include <iostream>
#include <span>

#include "services/app/client/client.h"
#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/commands/verb.h"
#include "services/app/import/input/byte_source.h"
#include "services/app/import/input/text_reader.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/uuid.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::app {
namespace {

using namespace classification::v1;  // NOLINT(google-build-using-namespace): this file's subject
using Classifier = Client<ClassificationService>;
using Stub = Classifier::Stub;

constexpr size_t kPart = size_t{8} << 20;
constexpr size_t kMaxDump = size_t{128} << 20;

struct ClassifyOptions : VerbOptions {
  std::string ns;
  std::string video;
  std::string file = "-";
  std::string policy;
  std::string classifier;
  std::string status = "filtered";
  std::string order = "newest";
  int explain = 0;
  int count = 20;
  std::string run;
  std::string base;
  int64_t budget = 0;
  bool resume = false;
};

// "FILTERED" of COMMENT_STATUS_FILTERED; a number that this program does not know stays one.
std::string Show(CommentStatus status) {
  const std::string& name = CommentStatus_Name(status);
  return name.empty() ? std::to_string(status) : name.substr(15);
}

// A dump, unpacked where it is gzip.
StatusOr<std::string> ReadDump(const std::string& file, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const auto source, ByteSource::Open(file, interrupt));
  std::string dump;
  for (;;) {
    const size_t size = dump.size();
    if (size > kMaxDump) return InvalidField("file", "is over 128 MiB: split it");
    dump.resize(size + kPart);
    WINNOW_ASSIGN_OR_RETURN(const size_t read,
                            source->Read(std::span(dump.data() + size, dump.size() - size)));
    dump.resize(size + read);
    if (read == 0) return dump;
  }
}

// Statuses share one word with the API's: "filtered", "content_suggestion", "normal".
StatusOr<CommentStatus> ToCommentStatus(std::string name) {
  for (char& c : name) c = ToUpperAscii(c);
  CommentStatus status = COMMENT_STATUS_UNSPECIFIED;
  if (CommentStatus_Parse("COMMENT_STATUS_" + name, &status)) return status;
  return InvalidField("status", "must be normal, filtered, content_suggestion or unclassified");
}

void PrintRun(const Run& run) {
  std::cout << "run " << run.id() << " of " << run.video_id() << ": "
            << RunState_Name(run.state()).substr(10) << (run.active() ? ", active" : "") << ", "
            << run.classified_count() << " of " << run.input_count() << " classified, "
            << run.failed_count() << " failed, " << run.call_count() << " calls, cost "
            << run.cost_micros() << " (" << run.model() << ", " << run.policy_name() << "@"
            << run.policy_version() << ")";
  if (run.pause_reason() != FAILURE_KIND_UNSPECIFIED) {
    std::cout << ", paused for " << FailureKind_Name(run.pause_reason()).substr(13);
  }
  std::cout << std::endl;
}

int PrintVerdicts(const ClassifyOptions& options, const ClassifyTextsRequest& request,
                  const ClassifyTextsResponse& response) {
  for (int i = 0; i < response.verdicts_size(); ++i) {
    const TextVerdict& verdict = response.verdicts(i);
    if (options.json) {
      if (PrintJson(verdict) != kOk) return kFailed;
      continue;
    }
    std::cout << Show(verdict.status());
    if (!verdict.reason().empty()) std::cout << " (" << verdict.reason() << ")";
    std::cout << "  " << request.texts(i) << '\n';
    for (const NgramWeight& one : verdict.ngrams()) {
      std::cout << "    " << (one.weight() < 0 ? "" : "+") << one.weight() << "  \"" << one.ngram()
                << "\"\n";
    }
  }
  return kOk;
}

StatusOr<int> RunTexts(const ClassifyOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const auto source, ByteSource::Open(options.file, interrupt));
  WINNOW_ASSIGN_OR_RETURN(const Classifier server, Classifier::Connect(options.remote));
  TextReader reader(*source);
  ClassifyTextsRequest request;
  request.set_namespace_(options.ns);
  request.set_policy_name(options.policy);
  request.set_explain(options.explain);
  while (!interrupt.requested()) {
    const Status read = reader.Next(*request.mutable_texts());
    if (!request.texts().empty()) {
      WINNOW_ASSIGN_OR_RETURN(const auto response, server.Call(&Stub::ClassifyTexts, request));
      const int printed = PrintVerdicts(options, request, response);
      if (printed != kOk) return printed;
    }
    if (!read.ok() && !interrupt.requested()) return read;
    if (request.texts().empty()) break;
  }
  return interrupt.requested() ? kInterrupted : kOk;
}

void PrintImport(const ImportCommentsResponse& imported) {
  std::cout << CommentShape_Name(imported.shape()).substr(14) << ": " << imported.created_count()
            << " new, " << imported.updated_count() << " edited, " << imported.unchanged_count()
            << " known, " << imported.duplicate_count() << " twice, " << imported.skipped_count()
            << " skipped, " << imported.missing_reply_count() << " replies missing\n";
  for (const SkippedComment& skipped : imported.skipped()) {
    std::cout << "  skipped " << skipped.position() << " " << skipped.comment_id() << ": "
              << skipped.why() << '\n';
  }
}

// Sends a dump in parts; the last one's response covers the whole.
StatusOr<ImportCommentsResponse> SendDump(const ClassifyOptions& options, const std::string& raw,
                                          const Classifier& server) {
  const size_t parts = std::max<size_t>(1, (raw.size() + kPart - 1) / kPart);
  ImportCommentsResponse response;
  for (size_t part = 0; part < parts; ++part) {
    ImportCommentsRequest request;
    request.set_namespace_(options.ns);
    request.set_video_id(options.video);
    request.set_raw(raw.substr(part * kPart, kPart));
    if (parts > 1) {
      request.set_upload_id("cli-" + std::to_string(std::hash<std::string>()(raw)));
      request.set_part(static_cast<int>(part));
      request.set_has_more(part + 1 < parts);
    }
    WINNOW_ASSIGN_OR_RETURN(response, server.Call(&Stub::ImportComments, request));
  }
  return response;
}

StatusOr<int> WatchToItsEnd(const ClassifyOptions& options, const Classifier& server,
                            const std::string& run, const Interrupt& interrupt) {
  WatchRunRequest request;
  request.set_namespace_(options.ns);
  request.set_run_id(run);
  int printed = kOk;
  RunState state = RUN_STATE_UNSPECIFIED;
  const auto print = [&](const WatchRunResponse& response) {
    state = response.run().state();
    if (options.json) {
      printed = PrintJson(response.run());
    } else {
      PrintRun(response.run());
    }
    return printed == kOk;
  };
  const Status ended = server.Follow(&Stub::WatchRun, request, interrupt, print);
  if (printed != kOk) return printed;
  if (interrupt.requested()) return kInterrupted;
  WINNOW_RETURN_IF_ERROR(ended);
  return state == RUN_STATE_COMPLETE ? kOk : kFailed;
}

StatusOr<int> RunImport(const ClassifyOptions& options, const Interrupt& interrupt) {
  const auto raw = ReadDump(options.file, interrupt);
  if (interrupt.requested()) return kInterrupted;
  WINNOW_RETURN_IF_ERROR(raw.status());
  WINNOW_ASSIGN_OR_RETURN(const Classifier server, Classifier::Connect(options.remote));
  WINNOW_ASSIGN_OR_RETURN(const auto imported, SendDump(options, *raw, server));
  PrintImport(imported);
  StartRunRequest request;
  request.set_namespace_(options.ns);
  request.set_video_id(options.video);
  request.set_classifier(options.classifier);
  request.set_policy_name(options.policy);
  request.set_activate(true);
  request.set_budget_micros(options.budget);
  request.set_request_id(NewUuidV7(SystemClock().Now()));
  WINNOW_ASSIGN_OR_RETURN(const auto started, server.Call(&Stub::StartRun, request));
  return WatchToItsEnd(options, server, started.run().id(), interrupt);
}

StatusOr<int> RunWatch(const ClassifyOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Classifier server, Classifier::Connect(options.remote));
  if (options.resume) {
    ResumeRunRequest request;
    request.set_namespace_(options.ns);
    request.set_run_id(options.run);
    if (options.budget > 0) request.set_budget_micros(options.budget);
    WINNOW_RETURN_IF_ERROR(server.Call(&Stub::ResumeRun, request).status());
  }
  return WatchToItsEnd(options, server, options.run, interrupt);
}

StatusOr<int> RunDiff(const ClassifyOptions& options, const Interrupt& interrupt) {
  WINNOW_ASSIGN_OR_RETURN(const Classifier server, Classifier::Connect(options.remote));
  CompareRunsRequest request;
  request.set_namespace_(options.ns);
  request.set_run_id(options.run);
  request.set_base_run_id(options.base);
  request.set_page_size(1000);
  do {
    WINNOW_ASSIGN_OR_RETURN(const auto page, server.Call(&Stub::CompareRuns, request));
    if (options.json) {
      if (PrintJson(page) != kOk) return kFailed;
    } else {
      for (const ConfusionCell& cell : page.matrix()) {
        std::cout << cell.count() << "  " << Show(cell.base_status()) << " -> "
                  << Show(cell.status()) << '\n';
      }
      for (const ChangedVerdict& change : page.changes()) {
        std::cout << change.comment_id() << "  " << Show(change.base_status()) << " -> "
                  << Show(change.status()) << '\n';
      }
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && !interrupt.requested());
  return interrupt.requested() ? kInterrupted : kOk;
}

StatusOr<int> RunList(const ClassifyOptions& options, const Interrupt&) {
  WINNOW_ASSIGN_OR_RETURN(const CommentStatus status, ToCommentStatus(options.status));
  WINNOW_ASSIGN_OR_RETURN(const Classifier server, Classifier::Connect(options.remote));
  ListClassificationsRequest request;
  request.set_namespace_(options.ns);
  request.set_video_id(options.video);
  request.set_status(status);
  request.set_order(options.order == "score" ? CLASSIFICATION_ORDER_HIGHEST_SCORE
                                             : CLASSIFICATION_ORDER_NEWEST);
  request.set_page_size(options.count);
  WINNOW_ASSIGN_OR_RETURN(const auto page, server.Call(&Stub::ListClassifications, request));
  if (options.json) return PrintJson(page);
  for (const Classification& one : page.classifications()) {
    std::cout << ShortTime(one.publish_time()) << "  " << one.comment_id() << "  ";
    if (one.has_score()) std::cout << one.score();
    std::cout << "  " << one.reason() << '\n';
  }
  if (page.classifications().empty()) std::cout << "none\n";
  return kOk;
}

Verb<ClassifyOptions> AddClassifyVerb(CLI::App& group, Command& chosen, const char* name,
                                      const char* help, RunVerb<ClassifyOptions> run) {
  const auto verb = AddVerb(group, chosen, name, help, run);
  AddNamespace(verb.command, verb.options.ns);
  return verb;
}

}  // namespace

void AddClassifyCommands(CLI::App& app, Command& chosen) {
  CLI::App* group = app.add_subcommand("classify", "classify comments and read verdicts");
  group->require_subcommand(1);

  auto [texts, text] =
      AddClassifyVerb(*group, chosen, "texts", "one verdict a line of a file or stdin", RunTexts);
  texts.footer("Example:\n  echo 'please make a video about trains' | winnow classify texts");
  texts.add_option("file", text.file, "a file of one text a line; - is standard input");
  texts.add_option("--policy", text.policy, "policy (default: \"default\")");
  texts.add_option("--explain", text.explain, "n-grams that weighed most")
      ->check(CLI::Range(0, 20));

  auto [import, dump] =
      AddClassifyVerb(*group, chosen, "import",
                      "import a dump of comments, classify it, activate the run", RunImport);
  import.footer("Example:\n  winnow classify import comments.json --video PLo9u5Mm5TA");
  import.add_option("file", dump.file, "a dump of any known shape; - is standard input");
  import.add_option("--video", dump.video, "the video")->required();
  import.add_option("--classifier", dump.classifier, "embedded (default) or llm");
  import.add_option("--policy", dump.policy, "policy (default: \"default\")");
  import.add_option("--budget", dump.budget, "most the run may cost, in millionths; 0: no limit")
      ->check(CLI::NonNegativeNumber);

  auto [watch, watched] =
      AddClassifyVerb(*group, chosen, "watch", "follow a run to its end, with its cost", RunWatch);
  watch.add_option("run", watched.run, "id of the run")->required();
  watch.add_flag("--resume", watched.resume, "go on with it first, where it is paused");
  watch
      .add_option("--budget", watched.budget,
                  "with --resume: most it may cost in all, in millionths")
      ->check(CLI::PositiveNumber);

  auto [diff, compared] =
      AddClassifyVerb(*group, chosen, "diff", "what two runs judge differently", RunDiff);
  diff.add_option("base", compared.base, "id of the run before")->required();
  diff.add_option("run", compared.run, "id of the run after")->required();

  auto [list, listed] = AddClassifyVerb(*group, chosen, "list", "comments of a status", RunList);
  list.footer("Example:\n  winnow classify list --video PLo9u5Mm5TA --status filtered --count 5");
  list.add_option("--video", listed.video, "the video")->required();
  list.add_option("--status", listed.status, "normal, filtered, content_suggestion or unclassified")
      ->capture_default_str();
  list.add_option("--order", listed.order, "newest or score")
      ->capture_default_str()
      ->check(CLI::IsMember({"newest", "score"}));
  AddCount(list, listed.count, 1000, "comments");
}

}  // namespace winnow::app
