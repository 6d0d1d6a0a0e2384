#include "services/dedup/config.h"

#include <chrono>
#include <string>

#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/service.h"
#include "services/platform/base/text.h"
#include "services/platform/config/config.h"
#include "services/platform/http/client.h"
#include "services/platform/process/secret_file.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMaxModel = 200;  // characters

bool IsWithin(int64_t value, int64_t least, int64_t most) {
  return value >= least && value <= most;
}

// Written so that NaN is refused.
bool IsScale(const config::v1::EmbedderCalibration& scale) {
  return scale.random_cosine() >= -1 && scale.random_cosine() < scale.match_cosine() &&
         scale.match_cosine() < 1;
}

// A URL without user, query or fragment, to which a path can be added.
bool IsApiUrl(const std::string& url) {
  const StatusOr<std::string> origin = http::OriginOf(url);
  return origin.ok() && url.find_first_of("?#@ ") == std::string::npos;
}

void CheckModel(const config::v1::Embedder& embedder, Violations& violations) {
  const std::string field = "dedup.embedder.model";
  if (embedder.model().empty() || CountCharacters(embedder.model()) > kMaxModel) {
    violations.Add(field, "must be the model's name, of 1 to 200 characters");
  } else if (embedder.has_calibration()) {
    if (!IsScale(embedder.calibration())) {
      violations.Add("dedup.embedder.calibration",
                     "must have -1 <= random_cosine < match_cosine < 1: measure them by"
                     " tools/dedup/embedder_report");
    }
  } else if (FindCalibration(embedder.model()) == nullptr) {
    violations.Add(field, UncalibratedModel(embedder.model()));
  }
}

milliseconds Milliseconds(const google::protobuf::Duration& duration) {
  return std::chrono::duration_cast<milliseconds>(
      FromDuration(duration).value());  // checked with the configuration
}

}  // namespace

Status CheckDedupConfig(const config::v1::Config& config) {
  if (!config.dedup().has_embedder()) return OkStatus();
  const config::v1::Embedder& embedder = config.dedup().embedder();
  if (embedder.url().empty()) {
    return InvalidField("dedup.embedder.url", "is missing: dedup.embedder means nothing without");
  }
  Violations violations;
  if (!IsApiUrl(embedder.url())) {
    violations.Add("dedup.embedder.url",
                   "must be an http or https URL without user, query or fragment,"
                   " e.g. \"http://127.0.0.1:8000/v1\"");
  }
  CheckModel(embedder, violations);
  if (!IsWithin(embedder.batch_size(), 1, 256)) {
    violations.Add("dedup.embedder.batch_size", "must be 1 to 256");
  }
  const StatusOr<Micros> timeout = FromDuration(embedder.timeout());
  if (!timeout.ok() || *timeout < milliseconds(50) || *timeout > seconds(30)) {
    violations.Add("dedup.embedder.timeout", "must be 0.05s to 30s");
  }
  const StatusOr<Micros> patience = FromDuration(embedder.patience());
  if (!patience.ok() || *patience < milliseconds(10) || *patience > seconds(30)) {
    violations.Add("dedup.embedder.patience", "must be 0.01s to 30s");
  }
  if (!IsWithin(embedder.cached_vectors(), 1, 10'000'000)) {
    violations.Add("dedup.embedder.cached_vectors", "must be 1 to 10,000,000");
  }
  return violations.ToStatus();
}

Policy InitialPolicy(const config::v1::Dedup& config) {
  Policy policy;
  policy.window = FromDuration(config.window()).value();  // checked with the configuration
  policy.token_threshold = config.token_threshold();
  policy.candidate_floor = config.candidate_floor();
  policy.same_channel = config.same_channel();
  return policy;
}

milliseconds EmbedderTime(const config::v1::Dedup& config) {
  return Milliseconds(config.embedder().timeout());
}

StatusOr<std::unique_ptr<EmbedderWorker>> MakeEmbedder(const config::v1::Dedup& config,
                                                       Metrics& metrics) {
  const config::v1::Embedder& embedder = config.embedder();
  if (embedder.url().empty()) return std::unique_ptr<EmbedderWorker>();
  EmbedderOptions options;
  options.url = embedder.url();
  while (options.url.ends_with('/')) options.url.pop_back();
  options.model = embedder.model();
  options.batch = static_cast<size_t>(embedder.batch_size());
  options.timeout = EmbedderTime(config);
  if (!embedder.key_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(options.key,
                            ReadSecretFile(embedder.key_file(), "dedup.embedder.key_file"));
  }
  const auto& scale = embedder.calibration();
  StatusOr<std::unique_ptr<Embedder>> model =
      embedder.has_calibration()
          ? MakeHttpEmbedder(options, {options.model, scale.random_cosine(), scale.match_cosine()},
                             metrics)
          : MakeHttpEmbedder(options, metrics);
  if (!model.ok()) return model.status();
  const EmbedderWorkerOptions cached = {.capacity = static_cast<size_t>(embedder.cached_vectors()),
                                        .call_time = options.timeout,
                                        .patience = Milliseconds(embedder.patience())};
  return std::make_unique<EmbedderWorker>(*std::move(model), cached, metrics);
}

}  // namespace winnow::dedup
