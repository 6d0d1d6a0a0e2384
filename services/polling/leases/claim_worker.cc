#include "services/polling/leases/claim_worker.h"

#include <algorithm>
#include <set>

#include "services/platform/grpc/errors/rpc_status.h"
#include "services/platform/process/log.h"

namespace winnow::polling {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kMaxWaiters = 10'000;
constexpr milliseconds kLookEvery(200);
constexpr milliseconds kRetryAfter(1000);
constexpr std::chrono::seconds kClaimTime(5);

// No later than the first wait ends.
Deadline NextLook(const std::list<ClaimWorker::Waiter>& waiting) {
  Deadline next = steady_clock::now() + kLookEvery;
  for (const ClaimWorker::Waiter& waiter : waiting) next = std::min(next, waiter.until);
  return next;
}

}  // namespace

void ClaimWorker::Start() {
  thread_ = std::jthread([this] { Run(); });
}

void ClaimWorker::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
  }
  if (thread_.joinable()) thread_.join();
  for (const Waiter& waiter : new_) waiter.done(rpc::ShuttingDown());
  new_.clear();
}

void ClaimWorker::Add(Waiter waiter) {
  std::unique_lock lock(mutex_);
  Status refused;
  if (count_ >= kMaxWaiters)
    refused =
        Overloaded("this server has " + std::to_string(kMaxWaiters) +
                       " waiting ClaimJobs calls, its limit: retry after the delay in RetryInfo",
                   kRetryAfter);
  if (stop_.stop_requested()) refused = rpc::ShuttingDown();
  if (!refused.ok()) {
    lock.unlock();
    return waiter.done(refused);
  }
  ++count_;
  new_.push_back(std::move(waiter));
  lock.unlock();
  changed_.notify_all();
}

void ClaimWorker::Wake() {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return;
    woken_ = true;
  }
  changed_.notify_all();
}

void ClaimWorker::JobsChanged() {
  Wake();
  if (followers_.sequencer != nullptr) followers_.sequencer->Wake();
}

void ClaimWorker::EventsWritten() {
  if (followers_.transport != nullptr) followers_.transport->Wake("polling");
}

void ClaimWorker::ReportStale(const std::string& kind, std::span<const StaleJob> stale) {
  if (stale.empty()) return;
  metrics_.CountStale(kind, stale);
  JobsChanged();
  EventsWritten();
}

void ClaimWorker::GiveBack(const std::string& kind, const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto released =
        store_.Do(steady_clock::now() + kClaimTime, job.key, command::Release{job.token}, "");
    if (released.ok()) continue;
    log::Warn("polling: a claimed job is left to its lease",
              {{"kind", kind}, {"error", released.status().ToString()}});
    const StatusCode code = released.status().code();
    // What was buried meanwhile holds up no other.
    if (code == StatusCode::kUnavailable || code == StatusCode::kDeadlineExceeded) return;
  }
}

void ClaimWorker::Run() {
  std::list<Waiter> waiting;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [this] { return woken_ || !new_.empty(); };
      if (waiting.empty()) {
        changed_.wait(lock, stop_.get_token(), is_due);
      } else {
        changed_.wait_until(lock, stop_.get_token(), NextLook(waiting), is_due);
      }
      woken_ = false;
      waiting.splice(waiting.end(), new_);
      if (stop_.stop_requested()) break;
    }
    const size_t before = waiting.size();
    ServeAll(waiting);
    const std::lock_guard lock(mutex_);
    count_ -= before - waiting.size();
  }
  for (const Waiter& waiter : waiting) waiter.done(rpc::ShuttingDown());
}

void ClaimWorker::ServeAll(std::list<Waiter>& waiting) {
  std::set<std::string> empty;  // kinds that had nothing this time
  for (auto at = waiting.begin(); at != waiting.end();) {
    if (at->cancelled()) {
      at->done(rpc::Cancelled("the client cancelled the call"));
      at = waiting.erase(at);
      continue;
    }
    const bool is_last = at->until <= steady_clock::now();
    StatusOr<ClaimResult> result = ClaimResult();
    if (!empty.contains(at->query.kind)) {
      result = store_.Claim(steady_clock::now() + kClaimTime, at->query);
      if (result.ok() && result->touched == 0) empty.insert(at->query.kind);
      if (result.ok()) ReportStale(at->query.kind, result->stale);
    }
    if (result.ok() && !result->jobs.empty() && at->cancelled()) {
      GiveBack(at->query.kind, result->jobs);
      result = rpc::Cancelled("the client cancelled the call");
    }
    if (result.ok() && result->jobs.empty() && !is_last) {
      ++at;
      continue;
    }
    at->done(std::move(result));
    at = waiting.erase(at);
  }
}

}  // namespace winnow::polling
