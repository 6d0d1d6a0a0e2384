#pragma once

#include <string>
#include <vector>

#include "services/platform/status.h"
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

// Complete and checked; the error lists all violations.
StatusOr<config::v1::Config> LoadConfig(const ConfigOptions& options);

}  // namespace winnow::app
