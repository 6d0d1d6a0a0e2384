#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>

#include "services/app/client/exit_code.h"
#include "services/app/client/print.h"
#include "services/app/client/remote.h"
#include "services/app/client/signal_watch.h"
#include "services/app/commands/command.h"
#include "services/app/serve/config_options.h"
#include "services/app/serve/database.h"
#include "services/app/serve/targets.h"
#include "services/platform/config/config.h"
#include "services/platform/postgres/schema/accepted_systems.h"
#include "services/platform/process/log.h"
#include "services/platform/process/secret_file.h"

namespace winnow::app {
namespace {

struct MigrateOptions {
  ConfigOptions config;
  std::string postgres_versions_dir;
  bool accept_system = false;
};

constexpr std::chrono::minutes kMigrationLimit{60};

// Origins and warnings go to standard error: standard output is a configuration file.
int RunCheckConfig(const ConfigOptions& options, bool print) {
  const auto loaded = LoadConfigAndOrigins(options);
  if (!loaded.ok()) {
    Fail(loaded.status());
    return kUsage;
  }
  for (const std::string& warning : loaded->warnings) {
    std::cerr << "winnow: warning: " << warning << '\n';
  }
  if (print) {
    for (const DerivedSetting& each : loaded->derived) {
      std::cerr << each.field << " = " << each.value << ": " << each.origin << '\n';
    }
    return PrintJson(loaded->config);
  }
  std::cout << "winnow: the configuration is good\n";
  return kOk;
}

Status MigrateTarget(pg::Pool& pool, const TargetRow& row, Deadline deadline) {
  const pg::Migrations migrations = row.migrations();
  WINNOW_RETURN_IF_ERROR(pg::Migrate(pool, migrations, deadline));
  WINNOW_ASSIGN_OR_RETURN(const pg::SchemaVersions versions,
                          pg::ReadSchemaVersions(pool, migrations, deadline));
  std::cout << "winnow: schema of " << row.name;
  if (versions.database > versions.binary) {
    std::cout << " is at version " << versions.database << ", newer than this binary's "
              << versions.binary << " and compatible with it: nothing to do\n";
  } else {
    std::cout << " is up to date\n";
  }
  return OkStatus();
}

// May be cut off at any moment: what was done stays, and the next run goes on from there.
Status Migrate(const config::v1::Config& config, const std::string& versions_dir,
               const std::stop_token& stop) {
  Metrics metrics;
  WINNOW_ASSIGN_OR_RETURN(const auto store, Database::Open(config, versions_dir, metrics, stop));
  {
    const std::stop_callback cut(stop, [&] { store->EndBy(std::chrono::steady_clock::now()); });
    WINNOW_RETURN_IF_ERROR(
        store->Explained(pg::Migrate(store->writes(), pg::PlatformMigrations(),
                                     std::chrono::steady_clock::now() + kMigrationLimit)));
    for (const TargetRow& row : ChosenTargets(config)) {
      const Deadline deadline = std::chrono::steady_clock::now() + kMigrationLimit;
      WINNOW_RETURN_IF_ERROR(MigrateTarget(store->writes(), row, deadline));
    }
  }
  return store->Close();
}

// A private PostgreSQL is in the data directory that was named: nothing is to be accepted.
Status AcceptSystem(const config::v1::Config& config) {
  const auto& postgres = config.postgres();
  if (!Database::IsPrivate(postgres.url())) {
    std::string password;
    if (!postgres.password_file().empty()) {
      WINNOW_ASSIGN_OR_RETURN(password,
                              ReadSecretFile(postgres.password_file(), "postgres.password_file"));
    }
    WINNOW_ASSIGN_OR_RETURN(const std::string system, pg::AcceptSystem(postgres.url(), password));
    if (!system.empty()) {
      std::cout << "winnow: database system " << system << " is accepted\n";
      return OkStatus();
    }
  }
  std::cout << "winnow: the database is on a system that is accepted already\n";
  return OkStatus();
}

int RunMigrate(const MigrateOptions& options, const Interrupt& interrupt) {
  const auto config = LoadConfig(options.config);
  if (!config.ok()) {
    Fail(config.status());
    return kUsage;
  }
  std::stop_source stop;
  const SignalWatch watch(interrupt, [&](int) { stop.request_stop(); });
  Status migrated = options.accept_system ? AcceptSystem(*config) : OkStatus();
  if (migrated.ok()) {
    migrated = Migrate(*config, options.postgres_versions_dir, stop.get_token());
  }
  if (migrated.ok()) return kOk;
  if (!interrupt.requested()) return Fail(migrated);
  std::cerr << "winnow: interrupted; what is said to be up to date is\n";
  return kInterrupted;
}

}  // namespace

void AddMigrateCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<MigrateOptions>();
  CLI::App* command = app.add_subcommand("migrate", "bring the database's schemas up to date");
  command->footer(
      "Needed once before a new version serves on a postgres:// store; with the private one, "
      "serve\n"
      "does it. Safe to run beside running servers of the release before, from 0.2.0 on.\n"
      "A schema that is newer than this binary is left as it is: exit 0 where the binary is\n"
      "compatible with it, else 1 and what to do.\n\n"
      "Examples:\n  winnow migrate --config /etc/winnow/config.json\n"
      "  winnow migrate --config /etc/winnow/config.json --accept-system    # after a restore");
  AddConfigOptions(*command, options->config);
  command->add_option("--postgres-versions-dir", options->postgres_versions_dir,
                      "where PostgreSQL is installed as <DIR>/<VERSION>/bin");
  command->add_flag("--accept-system", options->accept_system,
                    "use the database although it was restored or moved to another PostgreSQL");
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt& interrupt) { return RunMigrate(*options, interrupt); };
  });
}

void AddCheckConfigCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ConfigOptions>();
  auto print = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("check-config", "report every configuration error");
  command->footer(
      "Checks the configuration that serve would use and starts nothing; files that it names are "
      "not opened.\n\n"
      "Examples:\n  winnow check-config --config /etc/winnow/config.json\n"
      "  winnow check-config --print    # every setting with its default\n\n"
      "--print writes the effective configuration to standard output, and to standard error where\n"
      "each default that depends on this machine comes from.\n\n"
      "Exit codes: 0 good; 2 not.");
  AddConfigOptions(*command, *options);
  command->add_flag("--print", *print, "print the complete configuration as JSON");
  command->callback([options, print, &chosen] {
    chosen = [options, print](const Interrupt&) { return RunCheckConfig(*options, *print); };
  });
}

}  // namespace winnow::app
