#include "services/platform/postgres/log/log_sql.h"

#include <map>
#include <memory>
#include <mutex>

#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/pool/listener.h"
#include "services/platform/postgres/session/epoch_sql.h"
#include "services/platform/postgres/session/schema_name.h"

namespace winnow::pg {
namespace {

// The texts of one schema, and the statements that point into them.
struct Texts {
  std::string enter_name, enter_sql, advance_name, advance_sql, head_name, head_sql;
  LogSql statements;

  explicit Texts(const std::string& schema) {
    const std::string table = schema + ".log_streams";
    const std::string row = " FROM (SELECT 1) AS one LEFT JOIN " + table + " s ON s.stream = $1";
    enter_name = "platform.log_enter." + schema;
    enter_sql = "SELECT coalesce(s.head, 0), " + EpochSql() +
                ", s.last_arrival, clock_timestamp(), current_setting('synchronous_commit')" + row;
    advance_name = "platform.log_advance." + schema;
    advance_sql = "INSERT INTO " + table +
                  " AS s (stream, head, epoch, last_arrival) VALUES ($1, $2, $3, $4) "
                  "ON CONFLICT (stream) DO UPDATE SET head = EXCLUDED.head, "
                  "epoch = EXCLUDED.epoch, last_arrival = EXCLUDED.last_arrival "
                  "RETURNING pg_notify('" +
                  std::string(kLogChannel) + "', $5)";
    head_name = "platform.log_head." + schema;
    head_sql = "SELECT coalesce(s.head, 0), " + EpochSql() + row;
    statements = {{enter_name.c_str(), enter_sql.c_str()},
                  {advance_name.c_str(), advance_sql.c_str()},
                  {head_name.c_str(), head_sql.c_str()}};
  }
};

}  // namespace

StatusOr<const LogSql*> LogSqlOf(const std::string& schema) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Texts>> by_schema;
  WINNOW_RETURN_IF_ERROR(CheckSchemaName(schema));
  std::lock_guard lock(mutex);
  std::unique_ptr<Texts>& texts = by_schema[schema];
  if (!texts) texts = std::make_unique<Texts>(schema);
  return &texts->statements;
}

std::string LogStreamsDdl(const std::string& schema) {
  return "CREATE TABLE " + schema +
         ".log_streams (stream text COLLATE \"C\" PRIMARY KEY, head bigint NOT NULL, "
         "epoch text NOT NULL, last_arrival timestamptz NOT NULL)";
}

StatusOr<Head> ReadHead(Session& session, const Stream& stream) {
  WINNOW_ASSIGN_OR_RETURN(const LogSql* sql, LogSqlOf(stream.schema));
  const pqxx::result rows = session.Execute(sql->head, stream.name);
  return Head{rows[0][0].as<int64_t>(), rows[0][1].c_str()};
}

}  // namespace winnow::pg
