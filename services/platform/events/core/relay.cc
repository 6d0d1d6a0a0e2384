#include "services/platform/events/core/relay.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "services/platform/base/uuid.h"
#include "services/platform/events/core/dead_letters.h"
#include "services/platform/events/core/transport.h"
#include "services/platform/process/log.h"

namespace winnow::events {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStatementTime{10};
constexpr std::chrono::seconds kMeasureInterval{5};
constexpr std::chrono::milliseconds kMaxPause{5'000};
constexpr int kMaxCounted = 100'000;
constexpr int64_t kFirstId = 0;
constexpr int64_t kLastId = std::numeric_limits<int64_t>::max();

Deadline StatementDeadline() { return steady_clock::now() + kStatementTime; }

// The ids as an int8multirange: "{[1,7],[9,9]}".
std::string ToMultirange(const std::set<int64_t>& ids) {
  std::string out = "{";
  for (auto it = ids.begin(); it != ids.end();) {
    const int64_t first = *it;
    int64_t last = first;
    while (++it != ids.end() && *it == last + 1) last = *it;
    if (out.size() > 1) out += ',';
    out += "[" + std::to_string(first) + "," + std::to_string(last) + "]";
  }
  return out + "}";
}

}  // namespace

Relay::Relay(pg::Pool& pool, Metrics& metrics, std::string schema, RelayOptions options, Take take)
    : pool_(pool),
      schema_(std::move(schema)),
      options_(options),
      take_(std::move(take)),
      sql_(SqlOf(schema_)),
      holder_(NewUuidV7(SystemClock().Now())),
      depth_(metrics.GetGauge("winnow_outbox_depth_rows",
                              "Events committed and not yet delivered, counted up to 100,000.",
                              {{"schema", schema_}})),
      oldest_age_(metrics.GetGauge("winnow_outbox_oldest_age_seconds",
                                   "Age of the oldest event not yet delivered, 0 for none.",
                                   {{"schema", schema_}})),
      dead_(DeadLettersGauge(metrics, schema_ + ".outbox")) {}

Relay::~Relay() { Halt(); }

void Relay::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Relay::Halt() {
  {
    const std::lock_guard lock(mutex_);
    halting_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  halting_ = false;  // steps may go on by hand
}

void Relay::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Relay::Settle(std::vector<Settled> settled) {
  {
    const std::lock_guard lock(mutex_);
    std::move(settled.begin(), settled.end(), std::back_inserter(settled_));
    woken_ = true;
  }
  changed_.notify_all();
}

Status Relay::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

bool Relay::AwaitWork(std::chrono::milliseconds timeout, bool wakeable) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return halting_ || (woken_ && wakeable); });
  woken_ = false;
  return !halting_;
}

void Relay::Run() {
  auto pause = options_.poll_interval;
  bool more = true;
  while (AwaitWork(more ? std::chrono::milliseconds(0) : pause, health().ok())) {
    const StatusOr<size_t> read = Step();
    Record(read.status());
    more = read.ok() && *read == kMaxRead;
    pause = read.ok() ? options_.poll_interval : std::min(2 * pause, kMaxPause);
  }
}

void Relay::Record(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && health_.ok()) {
    log::Warn("outbox cannot be drained", {{"schema", schema_}, {"error", Message(status)}});
  } else if (status.ok() && !health_.ok()) {
    log::Info("outbox is drained again", {{"schema", schema_}});
  }
  health_ = status;
}

StatusOr<size_t> Relay::Step() {
  WINNOW_RETURN_IF_ERROR(Measure());
  WINNOW_RETURN_IF_ERROR(RemoveSettled(StatementDeadline()));
  WINNOW_ASSIGN_OR_RETURN(const bool held, HoldLease());
  const size_t room = kMaxInFlight - std::min(kMaxInFlight, in_flight_.size());
  if (!held || room == 0) return size_t{0};
  WINNOW_ASSIGN_OR_RETURN(std::vector<OutboxRow> rows, Read(std::min(room, kMaxRead)));
  for (const OutboxRow& row : rows) in_flight_.insert(row.id);
  const size_t count = rows.size();
  if (count > 0) take_(std::move(rows));
  return count;
}

StatusOr<bool> Relay::HoldLease() {
  const auto now = steady_clock::now();
  if (now < lease_until_ - options_.lease / 2) return true;
  // Single statements need no BEGIN and COMMIT, which would double their cost: hence Read.
  WINNOW_ASSIGN_OR_RETURN(
      const bool held,
      pool_.Statements(StatementDeadline(), [&](pg::Session& session) -> StatusOr<bool> {
        const bool signs = !session.pooled();
        if (signs) session.Execute(sql_.show_life, holder_);  // before others can see the lease
        return !session.Execute(sql_.take, holder_, int64_t{options_.lease.count()}, signs).empty();
      }));
  lease_until_ = held ? now + options_.lease : Deadline{};
  return held;
}

Status Relay::RemoveSettled(Deadline deadline) {
  std::vector<Settled> settled;
  {
    const std::lock_guard lock(mutex_);
    settled.swap(settled_);
  }
  if (settled.empty()) return OkStatus();
  std::set<int64_t> ids;
  pg::Array dead_ids, consumers, reasons, deliveries;
  bool any_dead = false;
  for (const Settled& row : settled) {
    ids.insert(row.id);
    for (const DeadLetter& dead : row.dead) {
      any_dead = true;
      dead_ids.Add(row.id);
      consumers.Add(dead.consumer);
      reasons.Add(dead.reason);
      deliveries.Add(dead.deliveries);
    }
  }
  const auto remove = [&](pg::Session& session) {
    if (any_dead) session.Execute(sql_.bury, dead_ids, consumers, reasons, deliveries);
    session.Execute(sql_.remove, ToMultirange(ids));
    return OkStatus();
  };
  Status status =
      any_dead ? pool_.Transaction(deadline, remove) : pool_.Statements(deadline, remove);
  if (status.ok()) {
    for (const Settled& row : settled) in_flight_.erase(row.id);
  } else {
    const std::lock_guard lock(mutex_);  // again at the next step
    std::move(settled.begin(), settled.end(), std::back_inserter(settled_));
  }
  return status;
}

StatusOr<std::vector<OutboxRow>> Relay::Read(size_t limit) {
  using Rows = StatusOr<std::vector<OutboxRow>>;
  return pool_.Statements(StatementDeadline(), [&](pg::Session& session) -> Rows {
    const auto result = session.Execute(sql_.read, ToMultirange(in_flight_),
                                        static_cast<int>(limit), kFirstId, kLastId);
    std::vector<OutboxRow> rows;
    rows.reserve(result.size());
    for (const auto& row : result) {
      rows.push_back({row[0].as<int64_t>(), row[1].as<std::string>(), pg::ToBytes(row[2])});
    }
    return rows;
  });
}

Status Relay::Measure() {
  const auto now = steady_clock::now();
  if (now < next_measure_) return OkStatus();
  next_measure_ = now + kMeasureInterval;
  return pool_.Statements(StatementDeadline(), [&](pg::Session& session) {
    const auto result = session.Execute(sql_.backlog, kMaxCounted, kFirstId, kLastId);
    depth_.Set(result[0][0].as<double>());
    oldest_age_.Set(result[0][1].as<double>());
    dead_.Set(session.Execute(sql_.dead, kMaxCounted)[0][0].as<double>());
    return OkStatus();
  });
}

Status Relay::Release(Deadline deadline) {
  deadline = std::min(std::max(deadline, steady_clock::now() + kStopGrace), StatementDeadline());
  WINNOW_RETURN_IF_ERROR(RemoveSettled(deadline));
  lease_until_ = Deadline{};
  return pool_.Transaction(deadline, [&](pg::Session& session) {
    session.Execute(sql_.release, holder_);
    return OkStatus();
  });
}

}  // namespace winnow::events
