#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "services/app/client/exit_code.h"
#include "services/app/client/interrupt.h"
#include "services/app/client/terminal.h"
#include "services/app/commands/command.h"
#include "services/platform/base/version.h"

namespace {

using namespace winnow::app;  // NOLINT(google-build-using-namespace): main is of the app

constexpr const char* kFooter = R"(First steps:
  winnow serve                                                     # in one terminal
  winnow import samples/items-ko-en.jsonl --create-categories      # in another
  winnow feed list
  winnow dedup duplicates

Exit codes: 0 done; 1 failed; 2 wrong call or configuration; 3 the server or what it needs is away;
4 imported, except what was refused; 130 interrupted; 141 standard output was closed.
`winnow COMMAND --help` shows its options.)";

// Reports an unknown command, for which the library only says that one is missing. Whether there
// was one.
bool ReportUnknown(const CLI::App& app) {
  const CLI::App* group = &app;
  std::string path = app.get_name();
  while (!group->get_subcommands().empty()) {
    group = group->get_subcommands().front();
    path += " " + group->get_name();
  }
  const std::vector<std::string> words = group->remaining();
  if (group->get_require_subcommand_min() == 0 || words.empty()) return false;
  std::cerr << "winnow: unknown command \"" << Printable(words.front()) << "\": `" << path
            << " --help` lists the commands\n";
  return true;
}

int Run(int argc, char** argv) {
  CLI::App app("Winnow: collects items, drops what is known, serves feeds.", "winnow");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", "winnow " + winnow::BuildVersion().ToString());
  // As everywhere: of an option that is said twice the last one counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  Command chosen;
  AddServeCommand(app, chosen);
  AddImportCommand(app, chosen);
  AddFeedCommands(app, chosen);
  AddDedupCommands(app, chosen);
  AddClassifyCommands(app, chosen);
  AddJobsCommands(app, chosen);
  AddCollectCommands(app, chosen);
  AddEventsCommands(app, chosen);
  AddMigrateCommand(app, chosen);
  AddCheckConfigCommand(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    if (ReportUnknown(app)) return kUsage;
    app.exit(error);
    return kUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  const int code = chosen(Interrupt::Install());
  if (std::cout.flush() || code != kOk) return code;
  std::cerr << "winnow: standard output cannot be written\n";
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "winnow: " << error.what() << '\n';
    return kFailed;
  }
}
