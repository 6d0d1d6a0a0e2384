#include "services/platform/grpc/runtime/runtime.h"

#include <utility>

#include "services/platform/process/secret_file.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::rpc {

Runtime::Runtime(RuntimeOptions options, Metrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      auth_(options_.bearer_token),
      ingest_bytes_(options_.stream_memory_bytes),
      watch_bytes_(options_.stream_memory_bytes),
      ingest_streams_(options_.max_ingest_streams, options_.ingest_idle_timeout),
      waiting_calls_(options_.max_waiting_calls, std::chrono::hours(0)),
      read_pool_("rpc-read", options_.read_threads, options_.queue_limit),
      write_pool_("rpc-write", options_.write_threads, options_.queue_limit) {
  for (const auto& [lane, pool] : {std::pair{"read", &read_pool_}, {"write", &write_pool_}}) {
    gauges_.push_back(metrics.AddGauge("winnow_rpc_queue_depth", "Calls that wait for a thread.",
                                       {{"pool", lane}}, [pool = pool] { return pool->Depth(); }));
  }
  for (const auto& [kind, budget] :
       {std::pair{"ingest", &ingest_bytes_}, {"watch", &watch_bytes_}}) {
    gauges_.push_back(metrics.AddGauge(
        "winnow_rpc_stream_bytes", "Messages of streams that wait in memory.", {{"kind", kind}},
        [budget = budget] { return static_cast<double>(budget->used()); }));
  }
}

Runtime::~Runtime() {
  gauges_.clear();
  read_pool_.Stop();
  write_pool_.Stop();
}

StatusOr<std::unique_ptr<Runtime>> Runtime::Make(const config::v1::Config& config,
                                                 Metrics& metrics) {
  RuntimeOptions options;
  options.read_threads = config.calls().read_threads();
  options.write_threads = config.calls().write_threads();
  options.queue_limit = config.calls().queue_limit();
  WINNOW_ASSIGN_OR_RETURN(const Micros deadline, FromDuration(config.calls().default_deadline()));
  options.default_deadline = std::chrono::duration_cast<std::chrono::milliseconds>(deadline);
  options.stream_memory_bytes = static_cast<size_t>(config.calls().stream_memory_bytes());
  WINNOW_ASSIGN_OR_RETURN(const Micros idle, FromDuration(config.calls().ingest_idle_timeout()));
  options.ingest_idle_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(idle);
  options.client_certificates = !config.tls().client_ca_file().empty();
  if (const std::string& path = config.auth().bearer_token_file(); !path.empty()) {
    WINNOW_ASSIGN_OR_RETURN(std::string token, ReadSecretFile(path, "auth.bearer_token_file"));
    WINNOW_ASSIGN_OR_RETURN(options.bearer_token, CheckBearerToken(std::move(token)));
  }
  return std::make_unique<Runtime>(std::move(options), metrics);
}

MethodStats& Runtime::StatsOf(const Method& method) {
  {
    const std::shared_lock lock(stats_mutex_);
    if (const auto found = stats_.find(method.name); found != stats_.end()) return *found->second;
  }
  const std::unique_lock lock(stats_mutex_);
  if (const auto found = stats_.find(method.name); found != stats_.end()) return *found->second;
  auto stats = std::make_unique<MethodStats>(method, metrics_);
  const std::string_view key = stats->name();
  return *stats_.emplace(key, std::move(stats)).first->second;
}

Status Runtime::RequestQueueFull() const {
  return Overloaded("the request queue of this server is full (calls.queue_limit is " +
                        std::to_string(options_.queue_limit) +
                        " calls): retry after the delay in RetryInfo",
                    kRetryAfter);
}

Status Runtime::WaitingCallsFull() const {
  return Overloaded("this server has " + std::to_string(options_.max_waiting_calls) +
                        " long polls and watches, its limit: retry after the delay in RetryInfo",
                    kRetryAfter);
}

Status Runtime::IngestStreamsFull() const {
  return Overloaded("this server has " + std::to_string(options_.max_ingest_streams) +
                        " ingest streams, its limit: retry after the delay in RetryInfo",
                    kRetryAfter);
}

bool Runtime::Drain(Deadline deadline) {
  outside_calls_.Refuse();
  waiting_calls_.EndAll();
  ingest_streams_.EndAll();
  return outside_calls_.WaitUntilNone(deadline);
}

}  // namespace winnow::rpc
