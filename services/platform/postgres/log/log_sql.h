#pragma once

#include <string>

#include "services/platform/base/status.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::pg {

// The statements on <schema>.log_streams. They live as long as the process, since connections keep
// them prepared.
struct LogSql {
  Statement enter;    // ($1 stream): what a writer reads once it has the lock
  Statement advance;  // ($1 stream, $2 head, $3 epoch, $4 last arrival, $5 payload to notify)
  Statement head;     // ($1 stream): head and epoch
};
StatusOr<const LogSql*> LogSqlOf(const std::string& schema);

}  // namespace winnow::pg
