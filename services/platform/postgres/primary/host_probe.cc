#include "services/platform/postgres/primary/host_probe.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "services/platform/postgres/session/epoch_sql.h"
#include "services/platform/process/unless_stopped.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kAnswerLimit{2};
// Beyond libpq's connect_timeout, which leaves the resolver out.
constexpr milliseconds kConnectLimit{2500};
// A name may lead to another server by now, which an open connection does not show.
constexpr std::chrono::seconds kReconnectAfter{10};
constexpr milliseconds kPollInterval{100};  // `stop` is noticed within

const std::string& IdentitySql() {
  static const std::string sql =
      std::string("SELECT ") + kSystemSql + ", " + kTimelineSql +
      ", NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'"
      ", extract(epoch FROM pg_postmaster_start_time())::text"
      ", to_regclass('platform.accepted_systems') IS NOT NULL";
  return sql;
}

constexpr char kAcceptedSql[] =
    "SELECT system_identifier FROM platform.accepted_systems ORDER BY number";

std::string FirstLine(const char* text) {
  const std::string whole(text);
  return whole.substr(0, std::min<size_t>(whole.find('\n'), 200));
}

struct ResultClear {
  void operator()(PGresult* result) const { PQclear(result); }
};

}  // namespace

class HostProbe::Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}
  int size() const { return PQntuples(result_.get()); }
  std::string text(int row, int column) const { return PQgetvalue(result_.get(), row, column); }
  bool flag(int row, int column) const { return text(row, column) == "t"; }

 private:
  std::unique_ptr<PGresult, ResultClear> result_;
};

void HostProbe::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

HostProbe::HostProbe(ConnectionSettings settings)
    : pooled_(settings.transaction_pooling),
      conninfo_(std::move(settings.conninfo) + " connect_timeout='2'") {}  // the last one counts

HostProbe::~HostProbe() = default;

std::optional<HostAnswer> HostProbe::Ask(const std::stop_token& stop) {
  refused_ = false;
  const bool expired = connection_ && steady_clock::now() - connected_at_ >= kReconnectAfter;
  if (!connection_ || expired) Connect(stop);
  if (!connection_) return std::nullopt;
  std::optional<HostAnswer> answer = AskConnected(stop);
  if (!answer) connection_.reset();
  return answer;
}

// Keeps the connection there is where no new one can be made: a server without a free slot is up.
void HostProbe::Connect(const std::stop_token& stop) {
  const Deadline limit = steady_clock::now() + kConnectLimit;
  auto made = UnlessStopped(
      stop, limit, [conninfo = conninfo_] { return ConnectionPtr(PQconnectdb(conninfo.c_str())); });
  connected_at_ = steady_clock::now();
  if (!made) {
    error_ = "no connection in time";
  } else if (PQstatus(made->get()) != CONNECTION_OK) {
    error_ = FirstLine(PQerrorMessage(made->get()));
    // libpq does not give a failed login's SQLSTATE; its ping looks at it, in any language.
    const auto ping =
        UnlessStopped(stop, limit, [conninfo = conninfo_] { return PQping(conninfo.c_str()); });
    refused_ = !pooled_ && ping && *ping == PQPING_OK;
  } else {
    connection_ = *std::move(made);
  }
}

std::optional<HostAnswer> HostProbe::AskConnected(const std::stop_token& stop) {
  const Deadline deadline = steady_clock::now() + kAnswerLimit;
  const auto identity = Query(IdentitySql().c_str(), stop, deadline);
  if (!identity || identity->size() != 1) return std::nullopt;
  HostAnswer answer;
  answer.system = identity->text(0, 0);
  answer.timeline = std::strtoll(identity->text(0, 1).c_str(), nullptr, 10);
  answer.writable = identity->flag(0, 2);
  answer.server_start = identity->text(0, 3);
  if (!identity->flag(0, 4)) return answer;
  const auto accepted = Query(kAcceptedSql, stop, deadline);
  if (!accepted) return std::nullopt;
  for (int row = 0; row < accepted->size(); ++row)
    answer.accepted.push_back(accepted->text(row, 0));
  return answer;
}

std::unique_ptr<HostProbe::Rows> HostProbe::Query(const char* sql, const std::stop_token& stop,
                                                  Deadline deadline) {
  PGconn* connection = connection_.get();
  if (PQsendQuery(connection, sql) != 1) {
    error_ = FirstLine(PQerrorMessage(connection));
    return nullptr;
  }
  while (PQisBusy(connection) == 1) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds(0) || stop.stop_requested()) {
      error_ = "no answer in time";
      return nullptr;
    }
    pollfd ready = {PQsocket(connection), POLLIN, 0};
    poll(&ready, 1, static_cast<int>(std::min(left, kPollInterval).count()));
    if (ready.revents != 0 && PQconsumeInput(connection) != 1) break;
  }
  std::unique_ptr<PGresult, ResultClear> result(PQgetResult(connection));
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) {
    error_ = FirstLine(PQerrorMessage(connection));
    return nullptr;
  }
  while (PGresult* more = PQgetResult(connection)) PQclear(more);  // there is none: one statement
  return std::make_unique<Rows>(result.release());
}

}  // namespace winnow::pg
