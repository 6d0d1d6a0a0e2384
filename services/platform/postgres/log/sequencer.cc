#include "services/platform/postgres/log/sequencer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "services/platform/postgres/session/schema_name.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPoll(1000);
constexpr milliseconds kGather(10);  // what follows a wake closely is numbered with it
constexpr milliseconds kFirstBackoff(100);
constexpr milliseconds kLongestBackoff(5000);
constexpr std::chrono::seconds kWriteLimit(10);

// The statements of a sequence and the texts they point into.
struct Sql {
  explicit Sql(const Sequence& sequence)
      : find_name("platform.sequence_find." + sequence.stream.schema + "." + sequence.table),
        number_name("platform.sequence_number." + sequence.stream.schema + "." + sequence.table) {
    const std::string table = sequence.stream.schema + "." + sequence.table;
    const std::string& key = sequence.key;
    find_sql = "SELECT 1 FROM " + table + " WHERE position IS NULL LIMIT 1";
    // Locked first, so that a row that is being deleted takes no position. The limit is a literal:
    // the planner takes a tenth of the table for an unknown one, and scans it all.
    number_sql = "WITH picked AS MATERIALIZED (SELECT " + key + " FROM " + table +
                 " WHERE position IS NULL ORDER BY " + key + " LIMIT " +
                 std::to_string(kMaxRowsAppended) + " FOR UPDATE), numbered AS (SELECT " + key +
                 ", row_number() OVER (ORDER BY " + key + ") AS n FROM picked) UPDATE " + table +
                 " t SET position = $1::bigint + n FROM numbered WHERE t." + key + " = numbered." +
                 key;
  }
  std::string find_name, find_sql, number_name, number_sql;
};

Status CheckNames(const Sequence& sequence) {
  WINNOW_RETURN_IF_ERROR(CheckSchemaName(sequence.stream.schema));
  WINNOW_RETURN_IF_ERROR(CheckSchemaName(sequence.table));
  return CheckSchemaName(sequence.key);
}

}  // namespace

struct Sequencer::State {
  State(Pool& p, Sequence s) : pool(p), sequence(std::move(s)), sql(sequence) {}

  void Loop(const std::stop_token& stop);
  StatusOr<int64_t> NumberSome(Deadline deadline);
  // False: a stop was requested.
  bool Wait(const std::stop_token& stop, milliseconds limit, bool wakeable);

  Pool& pool;
  const Sequence sequence;
  const Sql sql;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool woken = false;
  std::jthread thread;
};

StatusOr<int64_t> Sequencer::State::NumberSome(Deadline deadline) {
  WINNOW_RETURN_IF_ERROR(CheckNames(sequence));
  const Statement find = {sql.find_name.c_str(), sql.find_sql.c_str()};
  const Statement number = {sql.number_name.c_str(), sql.number_sql.c_str()};
  // The lock is for those who have something to number.
  WINNOW_ASSIGN_OR_RETURN(const bool any, pool.Statements(deadline, [&](Session& session) {
    return StatusOr<bool>(!session.Execute(find).empty());
  }));
  if (!any) return 0;
  int64_t numbered = 0;
  const auto committed = LogTransaction::Run(
      pool, sequence.stream, deadline,
      [&](LogSession& log) {
        const pqxx::result done = log.session().Execute(number, log.head());
        numbered = static_cast<int64_t>(done.affected_rows());
        log.Append(numbered);
        return OkStatus();
      },
      // Whatever a lost commit did stands in the rows: another run numbers what is left.
      [](Session&) -> StatusOr<bool> { return false; });
  if (!committed.ok()) return committed.status();
  return numbered;
}

void Sequencer::State::Loop(const std::stop_token& stop) {
  milliseconds backoff = kFirstBackoff;
  bool failing = false;
  do {
    const StatusOr<int64_t> numbered = NumberSome(steady_clock::now() + kWriteLimit);
    if (!numbered.ok()) {
      if (!std::exchange(failing, true)) {
        log::Warn("rows of a watch get no positions for now; retrying",
                  {{"table", sequence.table}, {"why", Message(numbered.status())}});
      }
      if (!Wait(stop, std::exchange(backoff, std::min(backoff * 2, kLongestBackoff)), false))
        return;
      continue;
    }
    failing = false;
    backoff = kFirstBackoff;
    if (*numbered == kMaxRowsAppended) continue;  // there may be more
    if (!Wait(stop, kPoll, true) || !Wait(stop, kGather, false)) return;
  } while (true);
}

bool Sequencer::State::Wait(const std::stop_token& stop, milliseconds limit, bool wakeable) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, limit, [&] { return wakeable && woken; });
  if (wakeable) woken = false;
  return !stop.stop_requested();
}

Sequencer::Sequencer(Pool& pool, Sequence sequence)
    : state_(std::make_unique<State>(pool, std::move(sequence))) {}

Sequencer::~Sequencer() { Stop(); }

void Sequencer::Start() {
  state_->thread =
      std::jthread([&state = *state_](const std::stop_token& stop) { state.Loop(stop); });
}

void Sequencer::Stop() {
  state_->thread.request_stop();
  if (state_->thread.joinable()) state_->thread.join();
}

void Sequencer::Wake() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->woken = true;
  }
  state_->changed.notify_one();
}

StatusOr<int64_t> Sequencer::NumberSome(Deadline deadline) { return state_->NumberSome(deadline); }

}  // namespace winnow::pg
