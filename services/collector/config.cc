#include "services/collector/config.h"

#include "services/platform/base/hash.h"
#include "services/platform/config/config.h"
#include "services/platform/process/secret_file.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::collector {
namespace {

StatusOr<Credential> ReadCredential(const config::v1::Credential& from, const std::string& path) {
  Credential to;
  to.name = from.name();
  if (from.vendor() == "naver-hub") to.vendor = Vendor::kNaverHub;
  if (from.vendor() == "newsdata") to.vendor = Vendor::kNewsData;
  to.base_url = from.base_url();
  if (!from.id_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(to.id, ReadSecretFile(from.id_file(), path + ".id_file"));
  }
  WINNOW_ASSIGN_OR_RETURN(to.key, ReadSecretFile(from.key_file(), path + ".key_file"));
  to.limits.per_second = from.calls_per_second();
  to.limits.per_quarter = from.calls_per_quarter_hour();
  to.limits.per_day = from.calls_per_day();
  WINNOW_ASSIGN_OR_RETURN(const Micros reset, FromDuration(from.reset_time()));
  to.limits.reset = std::chrono::duration_cast<std::chrono::seconds>(reset);
  to.key_hash = static_cast<int64_t>(Hash64(to.id + '\0' + to.key));
  return to;
}

}  // namespace

StatusOr<std::vector<Credential>> ReadCredentials(const config::v1::Collector& config) {
  std::vector<Credential> credentials;
  for (const config::v1::Credential& from : config.credentials()) {
    const std::string path = "collector.credentials[" + std::to_string(credentials.size()) + "]";
    WINNOW_ASSIGN_OR_RETURN(Credential credential, ReadCredential(from, path));
    credentials.push_back(std::move(credential));
  }
  return credentials;
}

}  // namespace winnow::collector
