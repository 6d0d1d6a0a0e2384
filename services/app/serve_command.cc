#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "services/app/command.h"
#include "services/app/config_options.h"
#include "services/app/exit_code.h"
#include "services/app/remote.h"
#include "services/app/serving.h"
#include "services/platform/log.h"

namespace winnow::app {
namespace {

struct ServeOptions {
  ConfigOptions config;
  std::string address_file;
  std::string postgres_versions_dir;
};

constexpr const char* kFooter =
    R"(Without options: every service on 127.0.0.1:7400, with a PostgreSQL of its own in
/var/lib/winnow (root) or ~/.local/share/winnow. Prints one line when it is ready; logs go to
standard error. SIGTERM or Ctrl-C ends it in order.

Examples:
  winnow serve
  winnow serve --data-dir /srv/winnow --listen 127.0.0.1:0 --address-file /run/winnow.address
  winnow serve --config /etc/winnow/config.json --target dedup

Exit codes: 0 ended by a signal; 1 failed; 2 wrong call or configuration; 3 a dependency is away.)";

// Whoever waits for the file to appear finds it complete.
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

// While the process stops: a second SIGTERM cuts the drain's delay short.
class SecondSignal {
 public:
  SecondSignal(const Interrupt& interrupt, Serving& serving)
      : thread_([this, &interrupt, &serving] { Watch(interrupt, serving); }) {}
  ~SecondSignal() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  void Watch(const Interrupt& interrupt, Serving& serving) {
    std::unique_lock lock(mutex_);
    while (!done_) {
      if (interrupt.count() > 1) {
        serving.HurryStop();
        return;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

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

Status Run(const config::v1::Config& config, const ServeOptions& options,
           const Interrupt& interrupt, Serving& serving) {
  WINNOW_RETURN_IF_ERROR(serving.Start());
  if (!options.address_file.empty()) {
    WINNOW_RETURN_IF_ERROR(WriteAddressFile(options.address_file, serving.address()));
  }
  PrintReady(config, serving);
  log::Info("serving", {{"address", serving.address()}});
  interrupt.Wait();
  log::Info("stopping", {{"signal", interrupt.signal()}});
  const SecondSignal second(interrupt, serving);
  return serving.Stop();
}

int RunServe(const ServeOptions& options, const Interrupt& interrupt) {
  const auto config = LoadConfig(options.config);
  if (!config.ok()) {
    Fail(config.status());
    return kUsage;
  }
  if (const auto level = log::ParseLevel(config->log().level()); level.ok()) {
    log::SetLevel(*level);
  }
  Serving serving(*config, options.postgres_versions_dir);
  const Status status = Run(*config, options, interrupt, serving);
  if (!status.ok()) return Fail(status);
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
  command->callback([options, &chosen] {
    chosen = [options](const Interrupt& interrupt) { return RunServe(*options, interrupt); };
  });
}

}  // namespace winnow::app
