#pragma once

#include <chrono>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "services/platform/base/status.h"
#include "services/platform/grpc/runtime/auth.h"
#include "services/platform/grpc/runtime/byte_budget.h"
#include "services/platform/grpc/runtime/job_pool.h"
#include "services/platform/grpc/runtime/long_calls.h"
#include "services/platform/grpc/runtime/method.h"
#include "services/platform/grpc/runtime/method_stats.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::rpc {

struct RuntimeOptions {
  int read_threads = 4;
  int write_threads = 4;
  int queue_limit = 1000;  // calls that wait for a thread, per pool
  size_t max_ingest_streams = 256;
  size_t max_waiting_calls = 10'000;                      // long polls and watches
  std::chrono::milliseconds ingest_idle_timeout{30'000};  // then a stream's place may go to another
  size_t stream_memory_bytes = size_t{128} << 20;  // of ingest streams, and as much of watches
  std::chrono::milliseconds default_deadline{10'000};
  std::chrono::milliseconds slow_reader_grace{30'000};  // to read a watch's end before it is cut
  std::string bearer_token;                             // empty: no token is needed
  bool client_certificates = false;  // callers are known by a verified certificate
};

// What all calls share: the pools that run them, who may call, what is counted. Made once by main,
// before the services; outlives the server.
class Runtime {
 public:
  Runtime(RuntimeOptions options, Metrics& metrics);
  ~Runtime();
  // From a config whose defaults are filled in; reads the token's file.
  static StatusOr<std::unique_ptr<Runtime>> Make(const config::v1::Config& config,
                                                 Metrics& metrics);

  // Only unary calls run inline; others of that lane are reads.
  JobPool& pool(MethodPool lane) { return lane == MethodPool::kWrite ? write_pool_ : read_pool_; }
  MethodStats& StatsOf(const Method& method);
  const Auth& auth() const { return auth_; }
  const RuntimeOptions& options() const { return options_; }
  OutsideCalls& outside_calls() { return outside_calls_; }
  LongCalls& ingest_streams() { return ingest_streams_; }
  LongCalls& waiting_calls() { return waiting_calls_; }
  // Of what was read and not handled yet; of what waits for its reader.
  ByteBudget& ingest_bytes() { return ingest_bytes_; }
  ByteBudget& watch_bytes() { return watch_bytes_; }

  // Refuses calls from outside, ends streams and long polls with UNAVAILABLE, and waits for the
  // rest. Whether all ended before the deadline.
  bool Drain(Deadline deadline);

  // RESOURCE_EXHAUSTED: a limit of this process is reached; RetryInfo has kRetryAfter.
  Status RequestQueueFull() const;
  Status WaitingCallsFull() const;
  Status IngestStreamsFull() const;

  static constexpr std::chrono::milliseconds kRetryAfter{250};

 private:
  const RuntimeOptions options_;
  Metrics& metrics_;
  const Auth auth_;
  OutsideCalls outside_calls_;
  ByteBudget ingest_bytes_;
  ByteBudget watch_bytes_;
  LongCalls ingest_streams_;
  LongCalls waiting_calls_;
  std::shared_mutex stats_mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<MethodStats>> stats_;  // keys: their names
  JobPool read_pool_;
  JobPool write_pool_;
  std::vector<std::shared_ptr<void>> gauges_;  // last: they read the pools
};

}  // namespace winnow::rpc
