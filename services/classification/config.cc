#include "services/classification/config.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>

#include "services/platform/base/random.h"
#include "services/platform/config/config.h"
#include "services/platform/http/client.h"
#include "services/platform/process/secret_file.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::classification {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMaxBody = size_t{4} << 20;
constexpr milliseconds kLook(100);  // how late a wait notices that its task was stopped

// Calls by how they ended.
class CallMetrics {
 public:
  explicit CallMetrics(Metrics& metrics)
      : open_(metrics.GetGauge("winnow_classification_llm_circuit_open",
                               "1 while the language model is only tried, because it fails.")) {
    for (size_t kind = 0; kind < calls_.size(); ++kind) {
      const auto failure = static_cast<Failure>(kind);
      calls_[kind] =
          &metrics.GetCounter("winnow_classification_llm_calls_total",
                              "Calls of the language model, by how they ended.",
                              {{"outcome", failure == Failure::kNone ? "ok" : NameOf(failure)}});
    }
  }
  void Count(Failure failure) { calls_[static_cast<size_t>(failure)]->Increment(); }
  void SetOpen(bool open) { open_.Set(open ? 1 : 0); }

 private:
  std::array<Counter*, kFailures> calls_{};
  Gauge& open_;
};

// Reaches the configured server by HTTP, in real time.
class HttpLlmWorld final : public LlmEnvironment {
 public:
  HttpLlmWorld(const config::v1::LanguageModel& config, std::string key, const std::string& origin,
               milliseconds timeout, Metrics& metrics)
      : url_(config.url() + "/chat/completions"),
        key_(std::move(key)),
        timeout_(timeout),
        client_({.name = "llm",
                 .allow = {origin},
                 .idle_connections = static_cast<size_t>(config.concurrency())},
                metrics),
        calls_(metrics) {}

  WireReply Post(const std::string& body, FunctionRef<bool()> stop) override {
    http::Request request;
    request.method = "POST";
    request.url = url_;
    if (!key_.empty()) request.headers.push_back({"Authorization", "Bearer " + key_});
    request.headers.push_back({"Content-Type", "application/json"});
    request.headers.push_back({"Accept", "application/json"});
    request.body = body;
    request.timeout = timeout_;
    request.max_body = kMaxBody;
    request.cancelled = [stop] { return stop(); };
    auto response = client_.Fetch(request);
    WireReply reply;
    if (!response.ok()) {
      const http::ErrorKind kind = http::KindOf(response.status());
      // Of neither it is known what the server made of it.
      const bool late = kind == http::ErrorKind::kTimeout || kind == http::ErrorKind::kCancelled;
      reply.failure = late ? Failure::kDeadline : Failure::kTransient;
      return reply;
    }
    reply.status = response->status;
    reply.retry_after = http::RetryAfter(*response, SystemClock().Now());
    reply.body = std::move(response->body);
    return reply;
  }

  // Polls: stopping a task sends no notification.
  void Wait(Deadline until, FunctionRef<bool()> stop) override {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    while (!stop() && steady_clock::now() < until) {
      never.wait_until(lock, std::min(until, steady_clock::now() + kLook));
    }
  }
  uint64_t Random() override { return RandomBits(); }
  void CountCall(Failure failure) override { calls_.Count(failure); }
  void SetCircuitOpen(bool open) override { calls_.SetOpen(open); }

 private:
  const std::string url_;
  const std::string key_;
  const milliseconds timeout_;
  http::Client client_;
  CallMetrics calls_;
};

ChatModel ToModel(const config::v1::LanguageModel& config, const std::string& name) {
  return {name, config.input_price_micros(), config.output_price_micros(),
          config.max_output_tokens()};
}

StatusOr<LlmOptions> ToOptions(const config::v1::LanguageModel& config) {
  LlmOptions options;
  options.model = ToModel(config, config.model());
  const std::string& fallback = config.fallback_model();
  if (fallback == "none") {
    options.fallback = Fallback::kNone;
  } else if (fallback != "embedded") {
    options.fallback = Fallback::kModel;
    options.fallback_model = ToModel(config, fallback);
  }
  options.items = static_cast<size_t>(config.batch_size());
  options.prompt_tokens = static_cast<size_t>(config.max_prompt_tokens());
  options.concurrency = static_cast<size_t>(config.concurrency());
  WINNOW_ASSIGN_OR_RETURN(const Micros patience, FromDuration(config.patience()));
  options.patience = std::chrono::duration_cast<milliseconds>(patience);
  return options;
}

}  // namespace

StatusOr<std::shared_ptr<LlmEnvironment>> MakeLlmWorld(const config::v1::LanguageModel& config,
                                                       Metrics& metrics) {
  std::string key;
  if (!config.key_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(key, ReadSecretFile(config.key_file(), "classification.llm.key_file"));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string origin, http::OriginOf(config.url()));
  WINNOW_ASSIGN_OR_RETURN(const Micros timeout, FromDuration(config.timeout()));
  return std::make_shared<HttpLlmWorld>(config, std::move(key), origin,
                                        std::chrono::duration_cast<milliseconds>(timeout), metrics);
}

StatusOr<std::unique_ptr<LlmClassifier>> MakeLlmClassifier(const config::v1::LanguageModel& config,
                                                           Metrics& metrics) {
  if (config.url().empty()) return std::unique_ptr<LlmClassifier>();
  WINNOW_ASSIGN_OR_RETURN(auto world, MakeLlmWorld(config, metrics));
  WINNOW_ASSIGN_OR_RETURN(LlmOptions options, ToOptions(config));
  return std::make_unique<LlmClassifier>(std::move(options), std::move(world));
}

}  // namespace winnow::classification
