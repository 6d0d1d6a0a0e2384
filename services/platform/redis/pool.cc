#include "services/platform/redis/pool.h"

#include <algorithm>

#include "services/platform/process/log.h"
#include "services/platform/process/unless_stopped.h"
#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

using std::chrono::steady_clock;

Counter& Connects(Metrics& metrics, const char* result) {
  return metrics.GetCounter("winnow_redis_connects_total", "Connections made to Redis.",
                            {{"result", result}});
}

}  // namespace

Pool::Pool(PoolOptions options, Metrics& metrics)
    : options_(std::move(options)),
      connects_(Connects(metrics, "ok")),
      failed_connects_(Connects(metrics, "failed")),
      backoff_(options_.first_backoff) {
  gauges_.push_back(metrics.AddGauge("winnow_redis_up", "0 while Redis is unavailable.", {},
                                     [this] { return away() ? 0.0 : 1.0; }));
  maintainer_ = std::thread([this] { MaintainLoop(); });
}

Pool::~Pool() {
  gauges_.clear();
  {
    const std::lock_guard lock(mutex_);  // a wait begins before or sees the request
    stop_.request_stop();
  }
  idle_changed_.notify_all();
  maintainer_.join();
}

bool Pool::away() const {
  const std::lock_guard lock(mutex_);
  return away_;
}

StatusOr<std::unique_ptr<Connection>> Pool::Acquire(Deadline deadline) {
  std::vector<std::unique_ptr<Connection>> stale;  // closed after the lock is released
  std::unique_lock lock(mutex_);
  ++waiters_;
  std::unique_ptr<Connection> taken;
  bool in_time = true;
  while (!stop_.stop_requested() && !away_ && in_time && (taken = TakeIdle(stale)) == nullptr) {
    work_changed_.notify_one();
    in_time = idle_changed_.wait_until(lock, deadline) != std::cv_status::timeout;
  }
  // Who timed out may have taken the word of a connection that came back.
  if (!taken && !in_time) taken = TakeIdle(stale);
  --waiters_;
  if (taken) return taken;
  if (stop_.stop_requested()) {
    return Unavailable(Reason::kShuttingDown, "the server is stopping", kRetryAfter);
  }
  if (away_) return Away("Redis is unavailable");
  if (open_ == 0) return DeadlineExceeded("no connection to Redis was made in time");
  return Overloaded("every connection to Redis is in use", kRetryAfter);
}

std::unique_ptr<Connection> Pool::TakeIdle(std::vector<std::unique_ptr<Connection>>& stale) {
  while (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (!connection->IsStale()) return connection;
    --open_;
    stale.push_back(std::move(connection));
  }
  return nullptr;
}

void Pool::Return(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  idle_changed_.notify_one();
}

void Pool::Discard(std::unique_ptr<Connection> connection) {
  connection.reset();
  const std::lock_guard lock(mutex_);
  --open_;
  work_changed_.notify_one();
}

void Pool::ReportLoss(std::unique_ptr<Connection> connection) {
  connection.reset();
  std::vector<std::unique_ptr<Connection>> dropped;
  {
    const std::lock_guard lock(mutex_);
    open_ -= 1 + static_cast<int>(idle_.size());
    dropped.swap(idle_);
    if (!away_) log::Warn("lost Redis", {{"address", options_.address.ToString()}});
    away_ = true;
    backoff_ = options_.first_backoff;
  }
  work_changed_.notify_one();
  idle_changed_.notify_all();
}

void Pool::MaintainLoop() {
  std::unique_lock lock(mutex_);
  const std::stop_token stop = stop_.get_token();
  const auto needs_connection = [this] {
    return away_ || (waiters_ > std::ssize(idle_) && open_ < options_.connections);
  };
  while (work_changed_.wait(lock, stop, needs_connection) && !stop.stop_requested()) {
    Connect(lock);
    if (away_) work_changed_.wait_for(lock, stop, backoff_, [] { return false; });
  }
}

void Pool::Connect(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  // The resolver has no limit but its own, and cannot be cancelled.
  auto opened = UnlessStopped(stop_.get_token(), Deadline::max(),
                              [address = options_.address, time = options_.connect_timeout] {
                                return Connection::Open(address, steady_clock::now() + time);
                              });
  if (!opened) {
    lock.lock();
    return;
  }
  StatusOr<std::unique_ptr<Connection>> made = *std::move(opened);
  (made.ok() ? connects_ : failed_connects_).Increment();
  lock.lock();
  if (!made.ok()) {
    if (!away_) {
      log::Warn("cannot connect to Redis",
                {{"address", options_.address.ToString()}, {"why", Message(made.status())}});
    }
    backoff_ = away_ ? std::min(backoff_ * 2, options_.longest_backoff) : options_.first_backoff;
    away_ = true;
  } else {
    if (away_) log::Info("connected to Redis again", {{"address", options_.address.ToString()}});
    away_ = false;
    ++open_;
    idle_.push_back(*std::move(made));
  }
  idle_changed_.notify_all();
}

}  // namespace winnow::redis
