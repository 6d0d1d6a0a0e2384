#include "services/platform/postgres/session/connection.h"

#include <poll.h>

#include <array>
#include <pqxx/except>
#include <pqxx/nontransaction>

#include "services/platform/postgres/session/epoch_sql.h"
#include "services/platform/postgres/session/socket_limit.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;

// Then whole seconds up to the last, so that a timeout comes less than a second after its deadline.
constexpr std::array<milliseconds, 2> kShortTimeouts = {milliseconds(100), milliseconds(500)};
constexpr std::chrono::seconds kLongestTimeout{3'600};
constexpr std::chrono::seconds kLimitAgainAfter{1};

// What a role's or database's defaults could otherwise turn around. In another time zone the first
// hours of year 1 would be read as of 1 BC, and the last of 9999 as of 10000. Poolers know these
// two by themselves and give each server connection what its client last set.
constexpr char kTimeSetup[] = "SET DateStyle = 'ISO'; SET TimeZone = 'UTC';";
// A process that hangs in a transaction loses it, and with it the locks that others wait for.
#define WINNOW_IDLE_LIMIT "idle_in_transaction_session_timeout = '10s';"
constexpr char kSessionSetup[] =
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    "SET bytea_output = 'hex'; SET array_nulls = on;"
    "SET standard_conforming_strings = on;"
    "SET " WINNOW_IDLE_LIMIT "SET client_connection_check_interval = '5s'";

int64_t StepFor(Deadline deadline) {
  return StatementTimeout(deadline - std::chrono::steady_clock::now()).count();
}

}  // namespace

milliseconds StatementTimeout(std::chrono::steady_clock::duration left) {
  for (const milliseconds step : kShortTimeouts) {
    if (left <= step) return step;
  }
  return left >= kLongestTimeout ? kLongestTimeout : std::chrono::ceil<std::chrono::seconds>(left);
}

Connection::Connection(const ConnectionSettings& settings, std::optional<ConnectionGuard> guard)
    : transaction_pooling_(settings.transaction_pooling),
      guard_(std::move(guard)),
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
  if (guard_) VerifyPrimary(setup);
}

void Connection::VerifyPrimary(pqxx::transaction_base& transaction) const {
  const pqxx::row row = transaction.exec1("SELECT " + EpochSql() + ", pg_is_in_recovery()");
  const std::string expected = guard_->system + "/" + std::to_string(guard_->timeline);
  if (row[0].c_str() == expected && !row[1].as<bool>()) return;
  throw pqxx::broken_connection("the server is " + std::string(row[0].c_str()) +
                                (row[1].as<bool>() ? " in recovery" : "") +
                                ", and the primary in use is " + expected);
}

void Connection::RequireCurrent() const {
  if (outdated()) throw pqxx::broken_connection("the PostgreSQL primary changed");
}

std::string Connection::Epoch(pqxx::transaction_base& transaction) {
  if (!epoch_.empty()) return epoch_;
  static const std::string sql = "SELECT " + EpochSql() + ", pg_is_in_recovery()";
  const pqxx::row row = transaction.exec1(sql);
  std::string epoch = row[0].c_str();
  // A primary keeps its timeline for life; a pooler's next transaction may be of another server.
  if (!transaction_pooling_ && !row[1].as<bool>()) epoch_ = epoch;
  return epoch;
}

bool Connection::Prepare(const Statement& statement) {
  if (transaction_pooling_) return false;
  if (prepared_.contains(statement.name)) return true;
  driver_.prepare(statement.name, statement.sql);
  prepared_.insert(statement.name);
  return true;
}

void Connection::LimitStatements(pqxx::transaction_base& transaction, Deadline deadline) {
  deadline_ = deadline;
  limited_at_ = std::chrono::steady_clock::now();
  const int64_t step = StepFor(deadline);
  if (transaction_pooling_ || step == statement_timeout_ms_) return;
  transaction.exec("SET statement_timeout = " + std::to_string(step));
  statement_timeout_ms_ = step;
}

void Connection::LimitNext(pqxx::transaction_base& transaction) {
  const auto now = std::chrono::steady_clock::now();
  if (now - limited_at_ < kLimitAgainAfter) return;
  limited_at_ = now;
  statement_timeout_ms_ = -1;  // not known: a rollback takes it back
  transaction.exec(std::string(transaction_pooling_ ? "SET LOCAL" : "SET") +
                   " statement_timeout = " + std::to_string(StepFor(deadline_)));
}

std::string Connection::BeginSql(Deadline deadline, const std::string& settings) const {
  std::string sql = "BEGIN ISOLATION LEVEL READ COMMITTED;";
  if (transaction_pooling_) {
    sql += "SET LOCAL statement_timeout = " + std::to_string(StepFor(deadline)) + ";";
    sql += "SET LOCAL " WINNOW_IDLE_LIMIT;
  }
  return sql + settings;
}

bool Connection::IsStale() const {
  if (!driver_.is_open() || outdated()) return true;
  pollfd ready = {driver_.sock(), POLLIN, 0};
  return poll(&ready, 1, 0) != 0;
}

}  // namespace winnow::pg
