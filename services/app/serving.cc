#include "services/app/serving.h"

#include <ranges>

#include "services/app/transport.h"
#include "services/platform/grpc/dead_letter_target.h"
#include "services/platform/log.h"
#include "services/platform/timestamp.h"

namespace winnow::app {
namespace {

constexpr std::chrono::minutes kMigrationLimit{10};
constexpr std::chrono::seconds kServingLimit{3};

// Tells how long each phase of a stop took: what an operator asks when one takes long.
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

Serving::Serving(config::v1::Config config, std::string postgres_versions_dir)
    : config_(std::move(config)), postgres_versions_dir_(std::move(postgres_versions_dir)) {}

Status Serving::Start() {
  const std::vector<TargetRow> rows = ChosenTargets(config_);
  WINNOW_ASSIGN_OR_RETURN(runtime_, rpc::Runtime::Make(config_, metrics_));
  const bool plain_text = config_.insecure() || config_.metrics().insecure();
  WINNOW_ASSIGN_OR_RETURN(
      metrics_http_, rpc::MetricsHttp::Start(config_.metrics().listen(), plain_text, metrics_));
  WINNOW_RETURN_IF_ERROR(OpenStore());
  WINNOW_RETURN_IF_ERROR(BringUpToDate(rows));
  WINNOW_RETURN_IF_ERROR(MakeTargets(rows));
  WINNOW_ASSIGN_OR_RETURN(server_, rpc::Server::Start(config_, *runtime_, metrics_, targets_));
  return StartTargets();
}

Status Serving::OpenStore() {
  WINNOW_ASSIGN_OR_RETURN(store_, Store::Open(config_, postgres_versions_dir_, metrics_));
  WINNOW_ASSIGN_OR_RETURN(redis_, redis::Client::Make(config_.redis(), metrics_));
  WINNOW_ASSIGN_OR_RETURN(transport_, MakeTransport(config_, store_->events(), metrics_));
  return OkStatus();
}

Status Serving::BringUpToDate(const std::vector<TargetRow>& rows) {
  const bool migrate = store_->is_private() || config_.postgres().migrate_on_start();
  const Deadline deadline = std::chrono::steady_clock::now() + kMigrationLimit;
  for (const TargetRow& row : rows) {
    WINNOW_RETURN_IF_ERROR(migrate
                               ? pg::Migrate(store_->writes(), row.migrations(), deadline)
                               : pg::CheckMigrated(store_->writes(), row.migrations(), deadline));
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
                             .redis = redis_.get()});
  for (const TargetRow& row : rows) targets_.push_back(row.make(*platform_));
  targets_.push_back(rpc::MakeDeadLetterTarget(*platform_));
  return OkStatus();
}

Status Serving::StartTargets() {
  WINNOW_ASSIGN_OR_RETURN(
      peers_, rpc::Peers::Make(config_, *runtime_, targets_, server_->InProcessChannel()));
  for (const rpc::Target& target : targets_) WINNOW_RETURN_IF_ERROR(target.start(*peers_));
  WINNOW_RETURN_IF_ERROR(transport_->Start());
  // Who reads "ready" may ask for health at once. A dependency that is away keeps nobody out.
  server_->AwaitServing(std::chrono::steady_clock::now() + kServingLimit);
  return OkStatus();
}

Status Serving::Stop() {
  if (!runtime_) return OkStatus();  // not begun, or stopped before
  Phase phase;
  if (server_) server_->Drain();
  phase.Ended("calls drained");
  if (transport_) {
    const auto limit = FromDuration(config_.calls().drain_timeout()).value_or(Micros(0));
    transport_->Stop(std::chrono::steady_clock::now() + limit);
  }
  phase.Ended("events delivered");
  for (const rpc::Target& target : std::views::reverse(targets_)) target.stop();
  phase.Ended("workers stopped");
  if (server_) server_->Shutdown();
  peers_.reset();
  {
    const std::lock_guard lock(server_mutex_);
    server_.reset();
  }
  targets_.clear();
  platform_.reset();
  transport_.reset();
  redis_.reset();
  runtime_.reset();
  metrics_http_.reset();  // a scrape may have the drain's last counts
  phase.Ended("server ended");
  const Status closed = store_ ? store_->Close() : OkStatus();
  store_.reset();
  phase.Ended("store closed");
  return closed;
}

void Serving::HurryStop() {
  const std::lock_guard lock(server_mutex_);
  if (server_) server_->HurryDrain();
}

const std::string& Serving::metrics_address() const {
  static const std::string kOff;
  return metrics_http_ ? metrics_http_->address() : kOff;
}

}  // namespace winnow::app
