#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/platform/postgres/log/log_transaction.h"
#include "services/platform/postgres/log/tailer.h"

// The small log that the tests, and the writers they start, work on.
namespace winnow::pg {

inline const Stream kTestStream = {"test", "stream"};

Status MakeLogTable(Pool& pool, Deadline deadline);

// Appends a row for each id. `before_commit` is called in the transaction.
StatusOr<LogTransaction::Committed> AppendIds(
    Pool& pool, const std::vector<std::string>& ids, Deadline deadline,
    const std::function<Status(LogSession&)>& before_commit = {},
    const Stream& stream = kTestStream);

struct LogRow {
  int64_t seq;
  std::string id;
};
// What a tailer of the log applies: calls `take` for each row.
Tailer::Apply ReadRows(std::function<void(LogRow)> take);

}  // namespace winnow::pg
