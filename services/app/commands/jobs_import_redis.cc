#include <google/protobuf/struct.pb.h>

#include <iostream>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/jobs_options.h"
#include "services/app/import/redis/jobs_import.h"
#include "services/app/import/redis/redis_source.h"
#include "services/platform/process/metrics.h"

// `winnow jobs import-redis`.
namespace winnow::app {
namespace {

struct Options : VerbOptions {
  RedisSource redis;
  JobsImportSettings settings;
};

constexpr const char* kFooter =
    R"(Reads the sorted sets PREFIX + STATE (stt:polling:processing, stt:polling:summarizing; member
= id, score = milliseconds since 1970 at which the job entered the state) and imports each job into
the registry, waiting and due at once. The deadline of its state goes on where it was. Nothing is
written to Redis. May be run again, also after an interruption: jobs that the registry has are left
as they are.

To move in: stop the programs that poll and sweep the old keys, run this, then start one server with
`winnow serve --adopt-redis-keys`, which writes its view to these keys.

Examples:
  winnow jobs import-redis --redis redis://127.0.0.1:6379 --dry-run
  winnow jobs import-redis --redis redis://127.0.0.1:6379/2 --redis-password-file /run/password
  winnow jobs import-redis --redis redis+unix:///run/redis.sock --kind ocr --prefix ocr:polling:

Exit codes: 0 every job is in the registry; 1 failed; 2 wrong call; 3 no server or no Redis; 4 done,
except jobs that were refused; 130 interrupted.)";

int PrintJsonTally(const JobsImportTally& tally, bool dry_run) {
  google::protobuf::Struct report;
  auto& fields = *report.mutable_fields();
  const auto set = [&fields](const char* name, int64_t count) {
    fields[name].set_number_value(static_cast<double>(count));
  };
  fields["dry_run"].set_bool_value(dry_run);
  set("read", tally.read);
  set("imported", tally.imported);
  set("already_present", tally.already_present);
  set("in_another_state", tally.in_another_state);
  set("refused", tally.refused());
  auto& reasons = *fields["refused_by_reason"].mutable_struct_value()->mutable_fields();
  for (const auto& [reason, count] : tally.refused_by_reason) {
    reasons[reason].set_number_value(static_cast<double>(count));
  }
  return PrintJson(report);
}

int PrintTally(const JobsImportTally& tally, bool dry_run) {
  std::cout << WithCommas(tally.read) << " jobs read, " << WithCommas(tally.imported)
            << (dry_run ? " would be imported, " : " imported, ")
            << WithCommas(tally.already_present) << " already present";
  if (tally.in_another_state > 0) {
    std::cout << " (" << WithCommas(tally.in_another_state) << " in another state)";
  }
  std::cout << ", " << WithCommas(tally.refused()) << " refused";
  const char* separator = ": ";
  for (const auto& [reason, count] : tally.refused_by_reason) {
    std::cout << separator << Printable(reason) << " " << WithCommas(count);
    separator = ", ";
  }
  std::cout << '\n';
  return std::cout ? kOk : kFailed;
}

StatusOr<int> RunImport(const Options& options, const Interrupt& interrupt) {
  Metrics metrics;
  WINNOW_ASSIGN_OR_RETURN(const auto redis, OpenRedis(options.redis, metrics));
  WINNOW_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(options.remote));
  JobsImport import(options.settings, *redis, remote, interrupt, std::cerr);
  const Status done = import.Run();
  const JobsImportTally& tally = import.tally();
  const bool dry_run = options.settings.dry_run;
  const int printed = options.json ? PrintJsonTally(tally, dry_run) : PrintTally(tally, dry_run);
  if (interrupt.requested()) return kInterrupted;
  WINNOW_RETURN_IF_ERROR(done);
  if (printed != kOk) return printed;
  return tally.refused() > 0 ? kPartlyRefused : kOk;
}

}  // namespace

void AddJobsImportRedis(CLI::App& jobs, Command& chosen) {
  auto [command, options] =
      AddVerb(jobs, chosen, "import-redis", "take over the jobs of a Redis in the published layout",
              RunImport);
  command.footer(kFooter);
  AddRedisOptions(command, options.redis);
  command.add_option("--kind", options.settings.kind, "kind of the jobs")->capture_default_str();
  command.add_option("--prefix", options.settings.prefix,
                     "of the keys (default: view_prefix of the kind's policy)");
  command.add_flag("--dry-run", options.settings.dry_run,
                   "check every job and report what an import would do; change nothing");
}

}  // namespace winnow::app
