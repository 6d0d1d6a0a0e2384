#include "services/app/serve/database.h"

#include "services/platform/config/config.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/process/secret_file.h"

namespace winnow::app {
namespace {

constexpr std::string_view kPrivateScheme = "postgres-private:";
// Listeners, probes, an operator's psql; four further servers that are pointed at it.
constexpr int kOtherConnections = 100;

}  // namespace

StatusOr<std::unique_ptr<Database>> Database::Open(const config::v1::Config& config,
                                                   const std::string& versions_dir,
                                                   Metrics& metrics, const std::stop_token& stop) {
  // The constructor is private, out of make_unique's reach.
  std::unique_ptr<Database> store(new Database());
  const auto& postgres = config.postgres();
  pg::PoolOptions pool;
  if (IsPrivate(postgres.url())) {
    pg::PrivatePostgresOptions options;
    options.data_dir = config.data_dir();
    if (!versions_dir.empty()) options.versions_dir = versions_dir;
    options.max_connections = postgres.read_connections() + postgres.write_connections() +
                              LogConnections(config) + kEventConnections + kOtherConnections;
    options.stop = stop;
    WINNOW_ASSIGN_OR_RETURN(store->private_, pg::PrivatePostgres::Start(options));
    pool.url = store->private_->connection_url();
    store->place_ = "private PostgreSQL in " + store->private_->data_dir();
  } else {
    pool.url = postgres.url();
    store->place_ = "PostgreSQL of postgres.url";
  }
  if (!postgres.password_file().empty()) {
    WINNOW_ASSIGN_OR_RETURN(pool.password,
                            ReadSecretFile(postgres.password_file(), "postgres.password_file"));
  }
  if (!store->is_private()) {
    WINNOW_ASSIGN_OR_RETURN(store->primary_,
                            pg::PrimaryWatch::Start(pool.url, pool.password, metrics));
    pool.primary = store->primary_;
  }
  const auto open = [&](std::optional<pg::Pool>& out, const char* name, int connections) {
    pool.name = name;
    pool.connections = connections;
    out.emplace(pool, metrics);
  };
  open(store->reads_, "read", postgres.read_connections());
  open(store->writes_, "write", postgres.write_connections());
  open(store->logs_, "log", LogConnections(config));
  open(store->events_, "events", kEventConnections);
  return store;
}

Status Database::Explained(Status status) const {
  if (status.code() != StatusCode::kUnavailable || !primary_) return status;
  Status primary = primary_->Check();
  return primary.ok() ? status : primary;
}

bool Database::IsPrivate(std::string_view url) { return url.starts_with(kPrivateScheme); }

Database::~Database() { Close().IgnoreError(); }  // a caller that wants to know has called it

void Database::EndBy(Deadline deadline) {
  for (auto* pool : {&reads_, &writes_, &logs_}) (*pool)->EndBy(deadline);
  events_->EndBy(deadline + events::kStopGrace);
}

Status Database::Close(Deadline deadline) {
  events_.reset();
  logs_.reset();
  writes_.reset();
  reads_.reset();
  primary_.reset();
  if (!private_) return OkStatus();
  Status ended = private_->Stop(/*immediate=*/false, deadline);
  private_.reset();
  return ended;
}

}  // namespace winnow::app
