#pragma once

#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/config/resource_defaults.h"
#include "winnow/config/v1/config.pb.h"

namespace CLI {
class App;
}

namespace winnow::app {

// Where the configuration comes from: defaults, then the file, then these flags.
struct ConfigOptions {
  std::string file;
  std::vector<std::string> targets;
  std::string listen;
  std::string metrics;
  std::string data_dir;
  bool insecure = false;
};

void AddConfigOptions(CLI::App& command, ConfigOptions& options);

// A complete and checked configuration.
struct LoadedConfig {
  config::v1::Config config;
  std::vector<DerivedSetting> derived;  // the defaults that depend on this machine
  std::vector<std::string> warnings;    // what to change, though it may run
};

// The error lists all violations.
StatusOr<LoadedConfig> LoadConfigAndOrigins(const ConfigOptions& options);
StatusOr<config::v1::Config> LoadConfig(const ConfigOptions& options);

}  // namespace winnow::app
