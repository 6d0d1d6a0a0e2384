#pragma once

#include <string>

// SQL expressions for the history that a server's rows belong to: its system identifier, which
// initdb makes, and its timeline, which each promotion raises.
namespace winnow::pg {

inline constexpr char kSystemSql[] = "(SELECT system_identifier::text FROM pg_control_system())";

// The control file's timeline lags after a promotion, so a primary derives its own from the name of
// the WAL file it writes; a standby knows that of the last checkpoint and of the WAL it has
// replayed.
inline constexpr char kTimelineSql[] =
    "CASE WHEN pg_is_in_recovery() "
    "THEN greatest((SELECT timeline_id FROM pg_control_checkpoint()), "
    "(SELECT min_recovery_end_timeline FROM pg_control_recovery())) "
    "ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END";

// The epoch of positions in a log (log_transaction.h): of another one, no position holds.
inline std::string EpochSql() {
  return std::string(kSystemSql) + " || '/' || (" + kTimelineSql + ")::text";
}

}  // namespace winnow::pg
