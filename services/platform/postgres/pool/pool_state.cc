#include "services/platform/postgres/pool/pool_state.h"

#include <sys/socket.h>

#include <algorithm>

#include "services/platform/postgres/pool/endpoint.h"
#include "services/platform/postgres/session/errors.h"
#include "services/platform/process/log.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstBackoff(50);
constexpr milliseconds kLongestBackoff(2000);
constexpr milliseconds kWatchInterval(250);
// statement_timeout comes first: less than two seconds after the deadline (StatementTimeout, which
// is set again for statements that begin a second later).
constexpr milliseconds kGraceBeforeCut(2500);
constexpr milliseconds kRecent(1000);
constexpr Deadline kForever = Deadline::max();

Status Ended() { return Unavailable(Reason::kShuttingDown, "the server is stopping", kRetryAfter); }

}  // namespace

Lease::~Lease() {
  if (connection_) pool_->Return(std::move(connection_), lost_);
}

Status Lease::cut() const { return pool_->CutOf(connection_.get()); }

PoolState::PoolState(PoolOptions options, Metrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      wait_seconds_(metrics.GetHistogram("winnow_postgres_pool_wait_seconds",
                                         "Time that callers waited for a connection.",
                                         Metrics::LatencyBuckets(), {{"pool", options_.name}})),
      connects_(metrics.GetCounter("winnow_postgres_connects_total", "Connections made.",
                                   {{"pool", options_.name}, {"result", "ok"}})),
      failed_connects_(metrics.GetCounter("winnow_postgres_connects_total", "Connections made.",
                                          {{"pool", options_.name}, {"result", "failed"}})),
      backoff_(kFirstBackoff) {
  StatusOr<Endpoint> endpoint =
      MakeEndpoint(options_.url, options_.password, "winnow-" + options_.name, options_.primary);
  url_status_ = endpoint.status();
  if (endpoint.ok()) endpoint_ = *std::move(endpoint);
  AddGauges();
  maintainer_ = std::thread([this] { MaintainLoop(); });
  watchdog_ = std::thread([this] { WatchLoop(); });
  if (endpoint_.primary) {
    primary_changes_ = endpoint_.primary->OnChange([this] { OnPrimaryChange(); });
  }
}

PoolState::~PoolState() {
  primary_changes_.reset();
  listener_.reset();
  gauges_.clear();
  {
    const std::lock_guard lock(mutex_);  // a wait begins before or sees the request
    stop_.request_stop();
  }
  idle_changed_.notify_all();
  maintainer_.join();
  watchdog_.join();
}

void PoolState::AddGauges() {
  const auto add = [this](const char* state, std::function<double()> read) {
    gauges_.push_back(
        metrics_.AddGauge("winnow_postgres_pool_connections", "Connections of the pool by state.",
                          {{"pool", options_.name}, {"state", state}}, std::move(read)));
  };
  const auto locked = [this](auto count) {
    return [this, count] {
      std::lock_guard lock(mutex_);
      return static_cast<double>(count());
    };
  };
  add("idle", locked([this] { return idle_.size(); }));
  add("busy", locked([this] { return loans_.size(); }));
  add("waiting", locked([this] { return waiters_; }));
  add("maximum", [this] { return options_.connections; });
}

StatusOr<Lease> PoolState::Acquire(Deadline deadline) {
  WINNOW_RETURN_IF_ERROR(url_status_);
  const auto start = steady_clock::now();
  if (deadline <= start) return DeadlineExceeded("no time was left to ask PostgreSQL");
  std::vector<std::unique_ptr<Connection>> stale;  // closed after the lock is released
  std::unique_lock lock(mutex_);
  ++waiters_;
  std::unique_ptr<Connection> taken;
  bool timed_out = false;
  const auto ended = [this] { return stop_.stop_requested() || steady_clock::now() >= end_by_; };
  while (!ended() && !timed_out && (taken = TakeIdle(stale)) == nullptr) {
    if (open_ == 0 && away_) break;
    work_changed_.notify_one();
    const Deadline until = std::min(deadline, end_by_);  // which EndBy() may bring forward
    timed_out = idle_changed_.wait_until(lock, until) == std::cv_status::timeout;
  }
  if (!taken && timed_out && !ended()) taken = TakeIdle(stale);
  --waiters_;
  if (!taken) {
    if (ended()) return Ended();
    // A pool that could not grow in time is not in full use: PostgreSQL did not let it.
    if (open_ < options_.connections) return Away();
    return Overloaded("every PostgreSQL connection of the pool `" + options_.name + "` is in use",
                      kRetryAfter);
  }
  const Deadline cut_after = std::min(deadline, kForever - kGraceBeforeCut) + kGraceBeforeCut;
  loans_.push_back({taken.get(), taken->socket(), cut_after});
  lock.unlock();
  wait_seconds_.Observe(std::chrono::duration<double>(steady_clock::now() - start).count());
  return Lease(*this, std::move(taken));
}

std::unique_ptr<Connection> PoolState::TakeIdle(std::vector<std::unique_ptr<Connection>>& stale) {
  while (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (!connection->IsStale()) return connection;
    --open_;
    stale.push_back(std::move(connection));
  }
  return nullptr;
}

void PoolState::Return(std::unique_ptr<Connection> connection, bool lost) {
  {
    std::lock_guard lock(mutex_);
    loans_.remove_if([&](const Loan& loan) { return loan.connection == connection.get(); });
    if (!lost && connection->is_open()) {
      idle_.push_back(std::move(connection));
    } else {
      --open_;
      work_changed_.notify_one();
    }
  }
  idle_changed_.notify_one();
}

Status PoolState::CutOf(const Connection* connection) const {
  std::lock_guard lock(mutex_);
  const bool cut = std::any_of(loans_.begin(), loans_.end(), [&](const Loan& loan) {
    return loan.connection == connection && loan.cut;
  });
  if (!cut) return OkStatus();
  if (steady_clock::now() >= end_by_) return Ended();
  return connection->outdated() ? Away() : DeadlineExceeded("PostgreSQL did not answer in time");
}

void PoolState::EndBy(Deadline deadline) {
  {
    std::lock_guard lock(mutex_);
    end_by_ = std::min(end_by_, deadline);
  }
  idle_changed_.notify_all();
  end_changed_.notify_all();
}

bool PoolState::NeedsConnection() const {
  return away_ || (waiters_ > std::ssize(idle_) && open_ < options_.connections);
}

void PoolState::MaintainLoop() {
  std::unique_lock lock(mutex_);
  const std::stop_token stop = stop_.get_token();
  const auto needs_connection = [this] { return NeedsConnection(); };
  while (work_changed_.wait(lock, stop, needs_connection) && !stop.stop_requested()) {
    if (!url_status_.ok()) return;
    Connect(lock);
    if (away_) work_changed_.wait_for(lock, stop, backoff_, [this] { return connect_now_; });
  }
}

void PoolState::Connect(std::unique_lock<std::mutex>& lock) {
  connect_now_ = false;
  lock.unlock();
  std::unique_ptr<Connection> made;
  std::string failure;
  try {
    made = ConnectUnlessStopped(endpoint_, stop_.get_token());
    if (made) connects_.Increment();
  } catch (const std::exception& e) {
    failure = e.what();
    failed_connects_.Increment();
  }
  lock.lock();
  if (stop_.stop_requested()) return;
  if (!made) {
    if (!away_)
      log::Warn("cannot connect to PostgreSQL", {{"pool", options_.name}, {"why", failure}});
    backoff_ = away_ ? std::min(backoff_ * 2, kLongestBackoff) : kFirstBackoff;
    away_ = true;
    idle_changed_.notify_all();
    return;
  }
  if (away_) log::Info("connected to PostgreSQL again", {{"pool", options_.name}});
  away_ = false;
  ++open_;
  idle_.push_back(std::move(made));
  idle_changed_.notify_one();
}

void PoolState::WatchLoop() {
  std::unique_lock lock(mutex_);
  // Not woken by loans: that would cost every statement a wake-up.
  while (!stop_.stop_requested()) {
    CutLate();
    const auto now = steady_clock::now();
    const Deadline next = now + kWatchInterval;
    const Deadline end_by = end_by_;
    end_changed_.wait_until(lock, stop_.get_token(), end_by > now ? std::min(next, end_by) : next,
                            [&] { return end_by_ != end_by; });
  }
}

void PoolState::CutLate() {
  const auto now = steady_clock::now();
  for (Loan& loan : loans_) {
    if (loan.cut || now < std::min(loan.cut_after, end_by_)) continue;
    // The statement that waits on it ends with an error. The socket is closed by its owner, who
    // first takes it off the list.
    loan.cut = true;
    shutdown(loan.socket, SHUT_RDWR);
    log::Warn(now < end_by_ ? "PostgreSQL did not answer in time: connection cut"
                            : "the process ends: a statement that still ran is cut off",
              {{"pool", options_.name}});
  }
}

void PoolState::NoteAnswer() {
  last_answer_.store(steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

Status PoolState::Confirm(Lease& lease, Deadline began, pqxx::transaction_base& transaction) {
  if (!endpoint_.primary) return OkStatus();
  const auto now = steady_clock::now();
  const Connection& connection = lease.connection();
  const uint64_t generation = connection.generation();
  if (endpoint_.primary->Confirmed(generation, began, now)) return OkStatus();
  Deadline end_by;
  {
    const std::lock_guard lock(mutex_);
    end_by = end_by_;
  }
  // Throws nothing: what was answered is done, and an error here must not read as its error.
  const auto verify = [&] {
    try {
      connection.VerifyPrimary(transaction);
      return true;
    } catch (const std::exception& e) {
      log::Warn("a connection's primary could not be verified", {{"why", e.what()}});
      lease.MarkLost();
      return false;
    }
  };
  // A pooler's next statement may lead to another server.
  const bool can_verify = !connection.transaction_pooling();
  Status confirmed = endpoint_.primary->AwaitConfirmed(
      generation, began, now, end_by, can_verify ? verify : std::function<bool()>());
  if (!confirmed.ok() && connection.outdated()) lease.MarkLost();
  return confirmed;
}

// Statements that still run on the old primary are cut off: their results must not be used.
void PoolState::OnPrimaryChange() {
  std::vector<std::unique_ptr<Connection>> outdated;  // closed after the lock is released
  {
    const std::lock_guard lock(mutex_);
    for (Loan& loan : loans_) {
      if (loan.cut || !loan.connection->outdated()) continue;
      loan.cut = true;
      shutdown(loan.socket, SHUT_RDWR);
    }
    open_ -= static_cast<int>(idle_.size());
    outdated.swap(idle_);
    connect_now_ = true;
  }
  work_changed_.notify_all();
  idle_changed_.notify_all();
}

bool PoolState::AnsweredJustNow() const {
  const Deadline last(Deadline::duration(last_answer_.load(std::memory_order_relaxed)));
  return steady_clock::now() - last < kRecent;
}

Listener* PoolState::listener() {
  std::call_once(listener_once_, [this] {
    if (url_status_.ok() && !endpoint_.settings.transaction_pooling) {
      listener_ = std::make_unique<Listener>(endpoint_);
    }
  });
  return listener_.get();
}

}  // namespace winnow::pg
