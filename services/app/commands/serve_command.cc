#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "services/app/client/exit_code.h"
#include "services/app/client/remote.h"
#include "services/app/client/signal_watch.h"
#include "services/app/commands/command.h"
#include "services/app/serve/config_options.h"
#include "services/app/serve/serving.h"
#include "services/platform/process/log.h"
#include "services/platform/process/log_writer.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

struct ServeOptions {
  ConfigOptions config;
  std::string address_file;
  std::string postgres_versions_dir;
  bool adopt_redis_keys = false;
};

// For what follows a stop's own deadline.
constexpr std::chrono::seconds kStopGrace{15};

constexpr const char* kFooter =
    R"(Without options: every service on 127.0.0.1:7400, with a PostgreSQL of its own in
/var/lib/winnow (root) or ~/.local/share/winnow. Prints one line when it is ready; logs go to
standard error. SIGTERM or Ctrl-C ends it in order, also while it starts.

Examples:
  winnow serve
  winnow serve --data-dir /srv/winnow --listen 127.0.0.1:0 --address-file /run/winnow.address
  winnow serve --config /etc/winnow/config.json --target dedup

Exit codes: 0 ended by a signal; 1 failed; 2 wrong call or configuration; 3 a dependency is
away; 5 the gRPC port did not answer for a minute.)";

// A program that waits for the file to appear finds it complete.
Status WriteAddressFile(const std::string& path, const std::string& address) {
  const std::string fresh = path + ".new";
  {
    std::ofstream file(fresh, std::ios::trunc);
    file << address << '\n';
    if (!file.flush()) return FailedPrecondition("--address-file: cannot write " + fresh);
  }
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  if (error) return FailedPrecondition("--address-file: cannot write " + path);
  return OkStatus();
}

void PrintReady(const config::v1::Config& config, const Serving& serving) {
  std::string targets;
  for (const TargetRow& row : ChosenTargets(config)) {
    targets += (targets.empty() ? "" : ", ") + std::string(row.name);
  }
  std::cout << "winnow: serving " << targets << " at " << serving.address();
  if (!serving.metrics_address().empty()) {
    std::cout << "; metrics at http://" << serving.metrics_address() << "/metrics";
  }
  std::cout << "; " << serving.place() << std::endl;
}

// So that the file of an earlier run is not taken for this one's.
Status RemoveAddressFile(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) return FailedPrecondition("--address-file: cannot remove the old " + path);
  return OkStatus();
}

Status Start(const config::v1::Config& config, const ServeOptions& options, Serving& serving) {
  if (!options.address_file.empty()) {
    WINNOW_RETURN_IF_ERROR(RemoveAddressFile(options.address_file));
  }
  WINNOW_RETURN_IF_ERROR(serving.Start());
  if (!options.address_file.empty()) {
    WINNOW_RETURN_IF_ERROR(WriteAddressFile(options.address_file, serving.address()));
  }
  PrintReady(config, serving);
  log::Info("serving", {{"address", serving.address()}});
  return OkStatus();
}

constexpr std::string_view kPortDeadText =
    "stopped: the gRPC port did not answer the process's own calls for a minute";

[[noreturn]] void ExitDead() {
  log::Error(kPortDeadText, {{"exit_code", kPortDead}});
  log::LogWriter::Flush();
  _exit(kPortDead);
}

// In order as far as that goes: whatever is wrong with the port may hold a stop up too.
Status StopDead(const config::v1::Config& config, Serving& serving) {
  const auto limit = FromDuration(config.calls().drain_timeout()).value_or(Micros(0)) + kStopGrace;
  const std::jthread watchdog([limit](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any ended;
    ended.wait_for(lock, stop, limit, [] { return false; });
    if (!stop.stop_requested()) ExitDead();
  });
  serving.SkipDrainDelay();  // callers do not reach it
  return serving.Stop();
}

Status Run(const config::v1::Config& config, const ServeOptions& options,
           const Interrupt& interrupt, Serving& serving) {
  // The first signal cancels a start that is running; the second skips the delay of a stop.
  const SignalWatch watch(interrupt, [&](int count) {
    serving.CancelStart();
    if (count > 1) serving.SkipDrainDelay();
  });
  if (Status started = Start(config, options, serving); !started.ok()) {
    serving.SkipDrainDelay();  // readiness was never announced
    if (!interrupt.requested()) {
      serving.Stop().IgnoreError();  // of which the start's error is the cause
      return started;
    }
    log::Info("stopped while it started",
              {{"signal", interrupt.signal()}, {"where", Message(started)}});
    return serving.Stop();
  }
  interrupt.Wait(serving.port_dead_fd());
  if (serving.port_dead() && !interrupt.requested()) return StopDead(config, serving);
  log::Info("stopping", {{"signal", interrupt.signal()}});
  return serving.Stop();
}

void LogOrigins(const LoadedConfig& loaded) {
  for (const DerivedSetting& each : loaded.derived) {
    log::Info("default derived",
              {{"setting", each.field}, {"value", each.value}, {"origin", each.origin}});
  }
  for (const std::string& warning : loaded.warnings) {
    log::Warn("resources may not suffice", {{"warning", warning}});
  }
}

int RunServe(const ServeOptions& options, const Interrupt& interrupt) {
  const auto loaded = LoadConfigAndOrigins(options.config);
  if (!loaded.ok()) {
    Fail(loaded.status());
    return kUsage;
  }
  const config::v1::Config& config = loaded->config;
  if (const auto level = log::ParseLevel(config.log().level()); level.ok()) {
    log::SetLevel(*level);
  }
  const log::LogWriter background;
  LogOrigins(*loaded);
  Serving serving(config, options.postgres_versions_dir, options.adopt_redis_keys);
  const Status status = Run(config, options, interrupt, serving);
  if (serving.port_dead() && !interrupt.requested()) ExitDead();
  if (!status.ok()) {
    // The error is the last line; it is lost if standard error is not read.
    return log::LogWriter::Flush() ? Fail(status) : ExitCodeOf(status);
  }
  log::Info("stopped");
  return kOk;
}

}  // namespace

void AddServeCommand(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "run the services");
  command->footer(kFooter);
  AddConfigOptions(*command, options->config);
  command->add_option("--address-file", options->address_file,
                      "file to write HOST:PORT into, once it is ready");
  command->add_option("--postgres-versions-dir", options->postgres_versions_dir,
                      "where PostgreSQL is installed as <DIR>/<VERSION>/bin "
                      "(default /usr/lib/postgresql, then PATH)");
  command->add_flag("--adopt-redis-keys", options->adopt_redis_keys,
                    "at the start, take over keys of other programs in Redis that the projections "
                    "of this server need; logs how many, then replaces what they hold");
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt& interrupt) { return RunServe(*options, interrupt); };
  });
}

}  // namespace winnow::app
