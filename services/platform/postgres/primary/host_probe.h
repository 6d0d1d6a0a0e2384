#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "services/platform/base/clock.h"
#include "services/platform/postgres/primary/primary_choice.h"
#include "services/platform/postgres/session/connection_settings.h"

struct pg_conn;

namespace winnow::pg {

// Asks one host what it is, on a connection of its own that is kept. A host that does not answer in
// time, or that `stop` is requested for, is left at once. One thread at a time.
class HostProbe {
 public:
  explicit HostProbe(ConnectionSettings settings);
  ~HostProbe();
  HostProbe(const HostProbe&) = delete;
  HostProbe& operator=(const HostProbe&) = delete;

  // Nothing: it did not answer; error() says why.
  std::optional<HostAnswer> Ask(const std::stop_token& stop);
  const std::string& error() const { return error_; }
  // After Ask() gave nothing: the server is up and did not let the probe in, as one without a free
  // slot. Never behind a pooler, which is up while its server is not.
  bool refused() const { return refused_; }

 private:
  struct Close {
    void operator()(pg_conn* connection) const;
  };
  using ConnectionPtr = std::unique_ptr<pg_conn, Close>;
  class Rows;

  void Connect(const std::stop_token& stop);
  std::optional<HostAnswer> AskConnected(const std::stop_token& stop);
  std::unique_ptr<Rows> Query(const char* sql, const std::stop_token& stop, Deadline deadline);

  const bool pooled_;
  const std::string conninfo_;
  ConnectionPtr connection_;
  Deadline connected_at_{};
  std::string error_;
  bool refused_ = false;
};

}  // namespace winnow::pg
