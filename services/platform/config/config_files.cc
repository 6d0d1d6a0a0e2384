#include "services/platform/config/config.h"
#include "services/platform/process/file.h"

namespace winnow {
namespace {

constexpr size_t kMaxConfigSize = 1024 * 1024;

}  // namespace

StatusOr<config::v1::Config> ReadConfigFile(const std::string& path, Violations* violations) {
  const auto text = ReadFile(path, kMaxConfigSize);
  if (!text.ok()) {
    return InvalidField("", "the config file " + path + " cannot be read: " +
                                Message(text.status()) + "; give the path of a JSON file");
  }
  return ParseConfig(*text, path, violations);
}

}  // namespace winnow
