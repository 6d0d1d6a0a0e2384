#include "services/platform/postgres/session/errors.h"

#include <pqxx/except>

#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

constexpr std::chrono::seconds kDiskFullRetry(5);

// Its first line; the later ones quote the statement.
std::string FirstLine(const char* what) {
  constexpr size_t kMostBytes = 300;
  const std::string text(what);
  return text.substr(0, std::min(text.find('\n'), kMostBytes));
}

Failure Lost(const std::string& detail) {
  log::Warn("a PostgreSQL connection was lost", {{"detail", detail}});
  return {Away(), /*connection_lost=*/true};
}

}  // namespace

Status Away() {
  return Unavailable(Reason::kStoreUnavailable, "PostgreSQL cannot be reached", kRetryAfter);
}

Failure ClassifySqlState(const std::string& sqlstate, const std::string& detail) {
  const std::string kind = sqlstate.substr(0, 2);
  if (sqlstate == "40001" || sqlstate == "40P01") {
    return {Aborted(Reason::kWriteConflict, "another transaction got in the way, repeatedly: redo"),
            false, /*may_retry=*/true};
  }
  if (sqlstate == "57014") {
    return {DeadlineExceeded("PostgreSQL did not finish the statement in time")};
  }
  if (sqlstate == "55P03") {
    return {
        Unavailable(Reason::kStoreUnavailable, "a lock did not come free in time", kRetryAfter)};
  }
  if (sqlstate == "23505") return {AlreadyExists("row", "of a unique key")};
  // The connection is as good as another would be, and what waits a while may find room.
  if (sqlstate == "53100") {
    log::Error("PostgreSQL's disk is full", {{"detail", detail}});
    return {Unavailable(Reason::kStoreUnavailable, "PostgreSQL's disk is full", kDiskFullRetry)};
  }
  // A server that is shutting down, starting, out of something, or a standby by now.
  if (kind == "08" || kind == "57" || kind == "53" || kind == "58" || sqlstate == "25006" ||
      sqlstate == "25P03" || sqlstate == "40003") {
    return Lost("SQLSTATE " + sqlstate + ": " + detail);
  }
  Failure failure = {Internal("SQLSTATE " + sqlstate + ": " + detail)};
  // "cached plan must not change result type", and a prepared statement that is gone: a new
  // connection prepares anew.
  failure.connection_lost = sqlstate == "0A000" || sqlstate == "26000";
  return failure;
}

Failure ClassifyCurrentException(const std::string& statement) {
  const std::string where = statement + ": ";
  try {
    throw;
  } catch (const pqxx::broken_connection& e) {
    return Lost(where + FirstLine(e.what()));
  } catch (const pqxx::in_doubt_error& e) {
    return Lost(where + FirstLine(e.what()));
  } catch (const pqxx::statement_completion_unknown& e) {
    return Lost(where + FirstLine(e.what()));
  } catch (const pqxx::transaction_rollback& e) {  // which is not a sql_error in pqxx
    return ClassifySqlState("40001", where + FirstLine(e.what()));
  } catch (const pqxx::sql_error& e) {
    return ClassifySqlState(e.sqlstate(), where + FirstLine(e.what()));
  } catch (const std::exception& e) {
    return {Internal(where + FirstLine(e.what()))};
  }
}

}  // namespace winnow::pg
