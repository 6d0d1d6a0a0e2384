#include "services/app/serve/config_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "services/app/serve/targets.h"
#include "services/platform/config/config.h"

namespace winnow::app {

void AddConfigOptions(CLI::App& command, ConfigOptions& options) {
  command.add_option("--config", options.file, "JSON file (protos/winnow/config/v1/config.proto)");
  command
      .add_option("--target", options.targets,
                  "all, or some of collector, dedup, newsfeed, classification, polling")
      ->delimiter(',');
  command.add_option("--listen", options.listen,
                     "gRPC address HOST:PORT (default 127.0.0.1:7400; port 0: any free one)");
  command.add_option("--metrics", options.metrics,
                     "address of /metrics, or off (default 127.0.0.1:7490)");
  command.add_option("--data-dir", options.data_dir, "directory of the private PostgreSQL");
  command.add_flag("--insecure", options.insecure, "listen beyond loopback without TLS");
}

StatusOr<LoadedConfig> LoadConfigAndOrigins(const ConfigOptions& options) {
  LoadedConfig loaded;
  config::v1::Config& config = loaded.config;
  Violations violations;
  if (!options.file.empty()) {
    WINNOW_ASSIGN_OR_RETURN(config, ReadConfigFile(options.file, &violations));
  }
  if (!options.targets.empty()) {
    config.clear_targets();
    for (const std::string& name : options.targets) config.add_targets(name);
  }
  if (!options.listen.empty()) config.set_listen(options.listen);
  if (!options.metrics.empty()) config.mutable_metrics()->set_listen(options.metrics);
  if (!options.data_dir.empty()) config.set_data_dir(options.data_dir);
  if (options.insecure) config.set_insecure(true);
  const MachineLimits limits = ReadMachineLimits();
  loaded.derived = FillDefaults(config, limits);
  // What could not be read has its default now: that says nothing more of it.
  const std::vector<Violation> unread = violations.all();
  const auto add = [&](const Status& status) {
    for (const Violation& each : ViolationsOf(status)) {
      const bool reported = std::any_of(unread.begin(), unread.end(), [&](const Violation& other) {
        return other.field == each.field;
      });
      if (!reported) violations.Add(each.field, each.description);
    }
  };
  add(CheckConfig(config));
  for (const TargetRow& row : AllTargets()) {
    if (row.check != nullptr) add(row.check(config));
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  loaded.warnings = ResourceWarnings(config, limits);
  return loaded;
}

StatusOr<config::v1::Config> LoadConfig(const ConfigOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfigAndOrigins(options));
  return std::move(loaded.config);
}

}  // namespace winnow::app
