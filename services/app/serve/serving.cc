#include "services/app/serve/serving.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "services/app/serve/descriptor_needs.h"
#include "services/app/serve/transport.h"
#include "services/platform/base/version.h"
#include "services/platform/events/dead_letters/dead_letter_target.h"
#include "services/platform/postgres/schema/accepted_systems.h"
#include "services/platform/process/descriptor_limit.h"
#include "services/platform/process/log.h"
#include "services/platform/process/log_writer.h"
#include "services/platform/process/machine_limits.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

constexpr std::chrono::minutes kMigrationLimit{10};
constexpr std::chrono::seconds kServingLimit{3};
constexpr std::chrono::milliseconds kStartedPoll{20};

Status CalledOff() {
  return Unavailable(Reason::kShuttingDown, "the start was cancelled", rpc::Runtime::kRetryAfter);
}

// Of a checked config.
Micros MicrosOf(const google::protobuf::Duration& duration) {
  return FromDuration(duration).value_or(Micros(0));
}

// Logs how long each phase of a stop took, for operators who wonder why one took long.
class Phase {
 public:
  void Ended(std::string_view what) {
    const auto now = std::chrono::steady_clock::now();
    log::Info(what, {{"ms", std::chrono::duration<double, std::milli>(now - begun_).count()}});
    begun_ = now;
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

Serving::Serving(config::v1::Config config, std::string postgres_versions_dir,
                 bool adopt_redis_keys)
    : config_(std::move(config)),
      postgres_versions_dir_(std::move(postgres_versions_dir)),
      adopt_redis_keys_(adopt_redis_keys),
      port_dead_fd_(Fd::AboveStandardStreams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  log::CountDroppedIn(
      &metrics_.GetCounter("winnow_log_lines_dropped_total",
                           "Log lines that were dropped because standard error was not read."));
}

Serving::~Serving() {
  Stop().IgnoreError();  // a caller that wants to know has called it
  log::CountDroppedIn(nullptr);
}

Status Serving::Start() {
  const std::vector<TargetRow> rows = ChosenTargets(config_);
  for (const TargetRow& row : rows) {
    metrics_
        .GetGauge("winnow_build_info", "1 for each target that this process runs.",
                  {{"version", BuildVersion().ToString()}, {"target", row.name}})
        .Set(1);
  }
  metrics_
      .GetGauge("winnow_memory_limit_bytes",
                "Memory that this process may use: its cgroup's limit, or the machine's memory.")
      .Set(static_cast<double>(ReadMachineLimits().memory_bytes));
  WINNOW_ASSIGN_OR_RETURN(const size_t descriptors, RaiseDescriptorLimit());
  rpc::ServerOptions options;
  WINNOW_ASSIGN_OR_RETURN(options.connections, ConnectionLimitsOf(config_, descriptors));
  WINNOW_ASSIGN_OR_RETURN(runtime_, rpc::Runtime::Make(config_, metrics_));
  const bool plain_text = config_.insecure() || config_.metrics().insecure();
  WINNOW_ASSIGN_OR_RETURN(
      metrics_http_, rpc::MetricsHttp::Start(config_.metrics().listen(), plain_text, metrics_));
  WINNOW_RETURN_IF_ERROR(rpc::Server::Check(config_));  // before minutes of migrations
  WINNOW_RETURN_IF_ERROR(OpenStore());
  // What waits for PostgreSQL from here on ends with it.
  const std::stop_callback cut(start_called_off_.get_token(),
                               [this] { store_->EndBy(std::chrono::steady_clock::now()); });
  WINNOW_RETURN_IF_ERROR(BringUpToDate(rows));
  WINNOW_RETURN_IF_ERROR(MakeTargets(rows));
  WINNOW_ASSIGN_OR_RETURN(server_,
                          rpc::Server::Start(config_, *runtime_, metrics_, targets_, options));
  if (metrics_http_) metrics_http_->ServeHealth([this] { return server_->HealthJson(); });
  return StartTargets();
}

Status Serving::OpenStore() {
  WINNOW_ASSIGN_OR_RETURN(store_, Database::Open(config_, postgres_versions_dir_, metrics_,
                                                 start_called_off_.get_token()));
  WINNOW_ASSIGN_OR_RETURN(redis_, redis::Client::Make(config_.redis(), metrics_));
  WINNOW_ASSIGN_OR_RETURN(transport_, MakeTransport(config_, store_->events(), metrics_));
  return OkStatus();
}

Status Serving::BringUpToDate(const std::vector<TargetRow>& rows) {
  const bool migrate = store_->is_private() || config_.postgres().migrate_on_start();
  const Deadline deadline = std::chrono::steady_clock::now() + kMigrationLimit;
  std::vector<pg::Migrations> schemas = {pg::PlatformMigrations()};
  for (const TargetRow& row : rows) schemas.push_back(row.migrations());
  for (const pg::Migrations& schema : schemas) {
    const Status status = migrate ? pg::Migrate(store_->writes(), schema, deadline)
                                  : pg::CheckMigrated(store_->writes(), schema, deadline);
    if (migrate && status.code() == StatusCode::kDeadlineExceeded) {
      return DeadlineExceeded("the schema of " + schema.schema +
                              " did not get up to date within 10 min, which is all that serve "
                              "waits: run `winnow migrate` with the same options, which waits 1 h");
    }
    WINNOW_RETURN_IF_ERROR(store_->Explained(status));
  }
  return OkStatus();
}

Status Serving::MakeTargets(const std::vector<TargetRow>& rows) {
  platform_.emplace(Platform{.config = config_,
                             .clock = clock_,
                             .metrics = metrics_,
                             .runtime = *runtime_,
                             .reads = store_->reads(),
                             .writes = store_->writes(),
                             .logs = store_->logs(),
                             .transport = *transport_,
                             .redis = redis_.get(),
                             .adopt_redis_keys = adopt_redis_keys_});
  for (const TargetRow& row : rows) {
    if (start_called_off_.stop_requested()) return CalledOff();
    targets_.push_back(row.make(*platform_));
    if (store_->primary() == nullptr) continue;
    // Not vital: what has no usable primary fails its own probe of PostgreSQL.
    targets_.back().probes.push_back({"postgres_primary",
                                      [primary = store_->primary()] { return primary->Check(); },
                                      /*vital=*/false});
  }
  targets_.push_back(rpc::MakeDeadLetterTarget(*platform_));
  return OkStatus();
}

Status Serving::StartTargets() {
  WINNOW_ASSIGN_OR_RETURN(
      peers_, rpc::Peers::Make(config_, *runtime_, targets_, server_->InProcessChannel()));
  for (const rpc::Target& target : targets_) {
    if (start_called_off_.stop_requested()) return CalledOff();
    WINNOW_RETURN_IF_ERROR(target.start(*peers_));
  }
  WINNOW_RETURN_IF_ERROR(transport_->Start());
  AwaitStarted();
  if (start_called_off_.stop_requested()) return CalledOff();
  // Who reads "ready" may ask for health at once. A dependency that is unavailable does not delay
  // this.
  server_->AwaitServing(std::chrono::steady_clock::now() + kServingLimit,
                        start_called_off_.get_token());
  server_->StartSelfCheck([this] {
    port_dead_ = true;
    eventfd_write(port_dead_fd_.get(), 1);
  });
  return OkStatus();
}

// Until every target has loaded what it needs, which each bounds itself, or the start is cancelled.
void Serving::AwaitStarted() {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  for (const rpc::Target& target : targets_) {
    while (target.is_starting()) {
      never.wait_for(lock, start_called_off_.get_token(), kStartedPoll, [] { return false; });
      if (start_called_off_.stop_requested()) return;
    }
  }
}

Status Serving::Stop() {
  if (!runtime_) return OkStatus();  // not begun, or stopped before
  Phase phase;
  using std::chrono::steady_clock;
  const Micros limit = MicrosOf(config_.calls().drain_timeout());
  const Deadline latest = steady_clock::now() + MicrosOf(config_.calls().drain_delay()) + limit;
  if (store_) store_->EndBy(latest);
  if (server_) server_->AnnounceEnd(hurried_.get_token());
  // One deadline for all that follows: a PostgreSQL that does not answer by then is not waited for.
  const Deadline end = std::min(latest, steady_clock::now() + limit);
  if (store_) store_->EndBy(end);
  // A caller that does not read may use up its part, not that of the events and the workers.
  if (server_) server_->Drain(end - limit / 4);
  phase.Ended("calls drained");
  if (transport_) transport_->Stop(end);
  phase.Ended("events delivered");
  std::for_each(targets_.rbegin(), targets_.rend(), [](const auto& target) { target.stop(); });
  phase.Ended("workers stopped");
  if (metrics_http_) metrics_http_->ServeHealth(nullptr);
  if (server_) server_->Shutdown();
  peers_.reset();
  server_.reset();
  targets_.clear();
  platform_.reset();
  transport_.reset();
  redis_.reset();
  runtime_.reset();
  metrics_http_.reset();  // a scrape may have the drain's last counts
  phase.Ended("server ended");
  Status closed = store_ ? store_->Close(end) : OkStatus();
  store_.reset();
  phase.Ended("store closed");
  return closed;
}

const std::string& Serving::metrics_address() const {
  static const std::string kOff;
  return metrics_http_ ? metrics_http_->address() : kOff;
}

}  // namespace winnow::app
