#include "services/platform/config/config_collector.h"

#include <chrono>
#include <set>

#include "services/platform/base/text.h"
#include "services/platform/base/url/listen_address.h"
#include "services/platform/http/client.h"
#include "services/platform/proto/timestamp.h"

namespace winnow {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kMaxEntries = 100;

void CheckRange(const std::string& field, int64_t value, int64_t least, int64_t most,
                Violations& violations) {
  if (value >= least && value <= most) return;
  violations.Add(field, "must be " + std::to_string(least) + " to " + std::to_string(most) +
                            ", not " + std::to_string(value));
}

std::string Seconds(milliseconds time) {
  const std::string whole = std::to_string(time.count() / 1000);
  return time.count() % 1000 == 0 ? whole + "s"
                                  : whole + "." + std::to_string(time.count() % 1000 / 100) + "s";
}

void CheckTime(const std::string& field, const google::protobuf::Duration& value,
               milliseconds least, milliseconds most, Violations& violations) {
  const auto duration = FromDuration(value);
  if (duration.ok() && *duration >= least && *duration <= most) return;
  violations.Add(field, "must be " + Seconds(least) + " to " + Seconds(most));
}

void CheckCredential(const std::string& path, const config::v1::Credential& credential,
                     Violations& violations) {
  const std::string& vendor = credential.vendor();
  const bool naver = vendor == "naver" || vendor == "naver-hub";
  if (!naver && vendor != "newsdata") {
    violations.Add(path + ".vendor",
                   "must be naver, naver-hub or newsdata, not \"" + vendor + "\"");
  }
  if (naver && credential.id_file().empty()) {
    violations.Add(path + ".id_file", "is missing: the file of the client id");
  }
  if (!naver && !credential.id_file().empty()) {
    violations.Add(path + ".id_file", "has no meaning but for Naver: leave it out");
  }
  if (credential.key_file().empty()) {
    violations.Add(path + ".key_file", "is missing: the file of the key");
  }
  if (!http::OriginOf(credential.base_url()).ok() ||
      credential.base_url().find_first_of("?#") != std::string::npos) {
    violations.Add(path + ".base_url", "must be an http or https URL without query");
  }
  CheckRange(path + ".calls_per_second", credential.calls_per_second(), 1, 100, violations);
  CheckRange(path + ".calls_per_quarter_hour", credential.calls_per_quarter_hour(), 0, 1'000,
             violations);
  CheckRange(path + ".calls_per_day", credential.calls_per_day(), 1, 10'000'000, violations);
  CheckTime(path + ".reset_time", credential.reset_time(), seconds(0), hours(24), violations);
}

}  // namespace

void CheckCollector(const config::v1::Collector& collector, Violations& violations) {
  CheckTime("collector.lease", collector.lease(), seconds(1), minutes(5), violations);
  CheckRange("collector.run_threads", collector.run_threads(), 1, 64, violations);
  CheckTime("collector.run_retention", collector.run_retention(), hours(1), hours(24 * 366),
            violations);
  CheckTime("collector.vendor_timeout", collector.vendor_timeout(), milliseconds(100), minutes(5),
            violations);
  CheckTime("collector.feed_timeout", collector.feed_timeout(), milliseconds(100), minutes(5),
            violations);
  CheckTime("collector.page_timeout", collector.page_timeout(), milliseconds(100), minutes(1),
            violations);
  CheckRange("collector.credentials", collector.credentials_size(), 0, kMaxEntries, violations);
  CheckRange("collector.allow", collector.allow_size(), 0, kMaxEntries, violations);
  std::set<std::string> names;
  for (int i = 0; i < collector.credentials_size(); ++i) {
    const config::v1::Credential& credential = collector.credentials(i);
    const std::string path = "collector.credentials[" + std::to_string(i) + "]";
    if (!IsSlug(credential.name())) {
      violations.Add(path + ".name", "must be 1 to 64 of a-z, 0-9 and -");
    } else if (!names.insert(credential.name()).second) {
      violations.Add(path + ".name", "is given twice: names are unique");
    }
    CheckCredential(path, credential, violations);
  }
  for (int i = 0; i < collector.allow_size(); ++i) {
    const std::string field = "collector.allow[" + std::to_string(i) + "]";
    const auto address = ParseListenAddress(collector.allow(i), field);
    if (!address.ok() || address->port == 0) {
      violations.Add(field, "must be HOST:PORT with a port from 1 to 65535");
    }
  }
}

}  // namespace winnow
