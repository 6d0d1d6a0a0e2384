#include "tests/integration/platform/postgres/commit_log_table.h"

namespace winnow::pg {
namespace {

constexpr Statement kInsert = {
    "test.log_insert",
    "INSERT INTO test.log (stream, seq, id) SELECT $1, $2 - 1 + ordinality, id "
    "FROM unnest($3::text[]) WITH ORDINALITY AS t (id, ordinality)"};
constexpr Statement kCount = {"test.log_count",
                              "SELECT count(*) FROM test.log WHERE id = ANY ($1::text[])"};
constexpr Statement kRead = {"test.log_read",
                             "SELECT seq, id FROM test.log WHERE stream = 'stream' AND seq > $1 "
                             "AND seq <= $2 ORDER BY seq LIMIT $3"};

}  // namespace

Status MakeLogTable(Pool& pool, Deadline deadline) {
  return pool.Transaction(deadline, [](Session& session) {
    session.ExecuteText("CREATE SCHEMA test");
    session.ExecuteText(LogStreamsDdl("test"));
    session.ExecuteText(
        "CREATE TABLE test.log (stream text, seq bigint, id text UNIQUE, PRIMARY KEY (stream, "
        "seq))");
    return OkStatus();
  });
}

StatusOr<LogTransaction::Committed> AppendIds(
    Pool& pool, const std::vector<std::string>& ids, Deadline deadline,
    const std::function<Status(LogSession&)>& before_commit, const Stream& stream) {
  Array array;
  for (const std::string& id : ids) array.Add(id);
  return LogTransaction::Run(
      pool, stream, deadline,
      [&](LogSession& log) -> Status {
        const int64_t first = log.Append(std::ssize(ids));
        log.session().Execute(kInsert, stream.name, first, array);
        return before_commit ? before_commit(log) : OkStatus();
      },
      [&](Session& session) -> StatusOr<bool> {
        return session.Execute(kCount, array)[0][0].as<int64_t>() == std::ssize(ids);
      });
}

Tailer::Apply ReadRows(std::function<void(LogRow)> take) {
  return [take = std::move(take)](Session& session, int64_t after, int64_t until,
                                  int limit) -> StatusOr<int64_t> {
    const pqxx::result rows = session.Execute(kRead, after, until, limit);
    int64_t last = after;
    for (const auto& row : rows) {
      last = row[0].as<int64_t>();
      take({last, row[1].c_str()});
    }
    return std::ssize(rows) < limit ? until : last;
  };
}

}  // namespace winnow::pg
