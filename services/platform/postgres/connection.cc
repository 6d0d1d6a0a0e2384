#include "services/platform/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <pqxx/nontransaction>

#include "services/platform/postgres/socket_limit.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;

constexpr std::array<milliseconds, 7> kTimeoutSteps = {
    milliseconds(100),    milliseconds(500),     milliseconds(2'000),    milliseconds(10'000),
    milliseconds(60'000), milliseconds(600'000), milliseconds(3'600'000)};

// What a role's or database's defaults could otherwise turn around. In another time zone the first
// hours of year 1 would be read as of 1 BC, and the last of 9999 as of 10000. Poolers know these
// two by themselves and give each server connection what its client last set.
constexpr char kTimeSetup[] = "SET DateStyle = 'ISO'; SET TimeZone = 'UTC';";
constexpr char kSessionSetup[] =
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    "SET bytea_output = 'hex'; SET array_nulls = on;"
    "SET standard_conforming_strings = on;"
    "SET idle_in_transaction_session_timeout = '60s';"
    "SET client_connection_check_interval = '5s'";

int64_t StepFor(Deadline deadline) {
  return StatementTimeout(deadline - std::chrono::steady_clock::now()).count();
}

}  // namespace

milliseconds StatementTimeout(std::chrono::steady_clock::duration left) {
  const auto step = std::find_if(kTimeoutSteps.begin(), kTimeoutSteps.end(),
                                 [&](milliseconds s) { return s >= left; });
  return step == kTimeoutSteps.end() ? kTimeoutSteps.back() : *step;
}

Connection::Connection(const ConnectionSettings& settings)
    : transaction_pooling_(settings.transaction_pooling),
      driver_(settings.conninfo),
      quiet_(driver_) {
  // pqxx would reconnect on its own and lose the settings, also in the middle of a transaction.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  driver_.inhibit_reactivation(true);
#pragma GCC diagnostic pop
  driver_.set_verbosity(pqxx::connection_base::terse);  // details quote the rows
  const SocketLimit limit(socket(), kSetupLimit);
  pqxx::nontransaction setup(driver_);
  setup.exec(kTimeSetup);
  if (!transaction_pooling_) setup.exec(kSessionSetup);
}

bool Connection::Prepare(const Statement& statement) {
  if (transaction_pooling_) return false;
  if (prepared_.contains(statement.name)) return true;
  driver_.prepare(statement.name, statement.sql);
  prepared_.insert(statement.name);
  return true;
}

void Connection::LimitStatements(pqxx::transaction_base& transaction, Deadline deadline) {
  const int64_t step = StepFor(deadline);
  if (transaction_pooling_ || step == statement_timeout_ms_) return;
  transaction.exec("SET statement_timeout = " + std::to_string(step));
  statement_timeout_ms_ = step;
}

std::string Connection::BeginSql(Deadline deadline, const std::string& settings) const {
  std::string sql = "BEGIN ISOLATION LEVEL READ COMMITTED;" + settings;
  if (transaction_pooling_) {
    sql += "SET LOCAL statement_timeout = " + std::to_string(StepFor(deadline)) + ";";
    sql += "SET LOCAL idle_in_transaction_session_timeout = '60s';";
  }
  return sql;
}

bool Connection::IsStale() const {
  if (!driver_.is_open()) return true;
  pollfd ready = {driver_.sock(), POLLIN, 0};
  return poll(&ready, 1, 0) != 0;
}

}  // namespace winnow::pg
