#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>

#include "services/app/command.h"
#include "services/app/config_options.h"
#include "services/app/exit_code.h"
#include "services/app/print.h"
#include "services/app/remote.h"
#include "services/app/store.h"
#include "services/app/targets.h"
#include "services/platform/log.h"

namespace winnow::app {
namespace {

struct MigrateOptions {
  ConfigOptions config;
  std::string postgres_versions_dir;
};

constexpr std::chrono::minutes kMigrationLimit{60};

int RunCheckConfig(const ConfigOptions& options, bool print) {
  const auto config = LoadConfig(options);
  if (!config.ok()) {
    Fail(config.status());
    return kUsage;
  }
  if (print) return PrintJson(*config);
  std::cout << "winnow: the configuration is good\n";
  return kOk;
}

int RunMigrate(const MigrateOptions& options) {
  const auto config = LoadConfig(options.config);
  if (!config.ok()) {
    Fail(config.status());
    return kUsage;
  }
  Metrics metrics;
  const auto store = Store::Open(*config, options.postgres_versions_dir, metrics);
  if (!store.ok()) return Fail(store.status());
  for (const TargetRow& row : ChosenTargets(*config)) {
    const Deadline deadline = std::chrono::steady_clock::now() + kMigrationLimit;
    const Status migrated = pg::Migrate((*store)->writes(), row.migrations(), deadline);
    if (!migrated.ok()) return Fail(migrated);
    std::cout << "winnow: schema of " << row.name << " is up to date\n";
  }
  const Status closed = (*store)->Close();
  return closed.ok() ? kOk : Fail(closed);
}

}  // namespace

void AddMigrateCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App* command = app.add_subcommand("migrate", "bring the database's schemas up to date");
  command->footer(
      "Needed once before a new version serves on a postgres:// store; with the private one, "
      "serve\n"
      "does it. Safe to run beside running servers of the version before.\n\n"
      "Example:\n  winnow migrate --config /etc/winnow/config.json");
  AddConfigOptions(*command, options->config);
  command->add_option("--postgres-versions-dir", options->postgres_versions_dir,
                      "where PostgreSQL is installed as <DIR>/<VERSION>/bin");
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt&) { return RunMigrate(*options); };
  });
}

void AddCheckConfigCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ConfigOptions>();
  auto print = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("check-config", "tell all that is wrong with it, or none");
  command->footer(
      "Judges what serve would be told, and starts nothing: files that it names are not opened.\n\n"
      "Examples:\n  winnow check-config --config /etc/winnow/config.json\n"
      "  winnow check-config --print    # every setting with its default\n\n"
      "Exit codes: 0 good; 2 not.");
  AddConfigOptions(*command, *options);
  command->add_flag("--print", *print, "print the complete configuration as JSON");
  command->callback([options, print, &chosen] {
    chosen = [options, print](const Interrupt&) { return RunCheckConfig(*options, *print); };
  });
}

}  // namespace winnow::app
