#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/config/resource_defaults.h"
#include "winnow/config/v1/config.pb.h"

// Configuration: JSON text -> winnow.config.v1.Config -> defaults filled in and checked.
namespace winnow {

// Strict: an unknown field, a wrong type or a repeated key is a violation. `origin` names the text
// in messages, e.g. the file's path. With `violations`, those of single fields are added to it and
// are not errors: the rest is read, so that it can be checked too.
StatusOr<config::v1::Config> ParseConfig(std::string_view json, std::string_view origin,
                                         Violations* violations = nullptr);
StatusOr<config::v1::Config> ReadConfigFile(const std::string& path,
                                            Violations* violations = nullptr);

// Fills in every default (config.proto states them). Answers those that depend on the machine.
std::vector<DerivedSetting> FillDefaults(config::v1::Config& config, const MachineLimits& limits);

// All violations of a config whose defaults are filled in, by field path ("postgres.url").
Status CheckConfig(const config::v1::Config& config);

}  // namespace winnow
