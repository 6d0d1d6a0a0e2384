#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/primary/primary_watch.h"
#include "services/platform/postgres/server/private_postgres.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::app {

// The truth: PostgreSQL, our own private one or another, and the pools of connections to it.
class Database {
 public:
  // `versions_dir`: where the private PostgreSQL's programs are; empty for Debian's folder. `stop`
  // calls the start of that PostgreSQL off.
  static StatusOr<std::unique_ptr<Database>> Open(const config::v1::Config& config,
                                                  const std::string& versions_dir, Metrics& metrics,
                                                  const std::stop_token& stop);
  ~Database();
  static bool IsPrivate(std::string_view url);

  pg::Pool& reads() { return *reads_; }
  pg::Pool& writes() { return *writes_; }
  pg::Pool& logs() { return *logs_; }
  pg::Pool& events() { return *events_; }
  // Null with the private PostgreSQL, which has no standby.
  pg::PrimaryWatch* primary() { return primary_.get(); }
  // For operators: of a store that is away, which host is why, and what to do.
  Status Explained(Status status) const;
  bool is_private() const { return private_ != nullptr; }
  // For people: where the data is.
  const std::string& place() const { return place_; }

  // All pools', at the latest then (pool.h); that of events' events::kStopGrace later, for its
  // outboxes to be given back. Any thread, while this lives.
  void EndBy(Deadline deadline);
  // Closes the pools, then ends the private PostgreSQL, by `deadline`. Error: it did not end well.
  Status Close(Deadline deadline = Deadline::max());

 private:
  Database() = default;
  std::string place_;
  std::unique_ptr<pg::PrivatePostgres> private_;
  std::shared_ptr<pg::PrimaryWatch> primary_;
  std::optional<pg::Pool> reads_;
  std::optional<pg::Pool> writes_;
  std::optional<pg::Pool> logs_;
  std::optional<pg::Pool> events_;
};

}  // namespace winnow::app
