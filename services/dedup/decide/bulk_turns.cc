#include "services/dedup/decide/bulk_turns.h"

#include <chrono>
#include <future>
#include <utility>

#include "services/dedup/decide/bulk_turns.sql.h"

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;

// Namespaces whose turns are waited for or held at once.
constexpr int kThreads = 4;
// A turn that is held longer than a log transaction may take has no effect.
constexpr std::chrono::seconds kHoldTime(20);

// An instance that was stopped in its turn loses it; who waited longer goes on without.
constexpr const char* kLimits =
    "SET LOCAL lock_timeout = 1000; SET LOCAL idle_in_transaction_session_timeout = 2000";

}  // namespace

BulkTurns::BulkTurns(pg::Pool& pool, Histogram& wait, Granted granted)
    : pool_(pool), wait_(wait), granted_(std::move(granted)) {}

BulkTurns::~BulkTurns() { Stop(); }

void BulkTurns::Start() {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
}

void BulkTurns::Stop() {
  stop_.request_stop();
  threads_.clear();
}

bool BulkTurns::Ask(const std::string& ns) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested() || asked_.size() >= idle_) return false;
    asked_.push_back(ns);
  }
  changed_.notify_one();
  return true;
}

void BulkTurns::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, stop_.get_token(), [this] { return !asked_.empty(); });
    --idle_;
    if (stop_.stop_requested()) return;
    const std::string ns = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    bool is_granted = false;
    // What becomes of the transaction is all the same: it writes nothing.
    pool_
        .Transaction(steady_clock::now() + kHoldTime,
                     [&](pg::Session& session) { return Hold(session, ns, is_granted); })
        .IgnoreError();
    if (!is_granted) granted_(ns, nullptr);
    lock.lock();
  }
}

Status BulkTurns::Hold(pg::Session& session, const std::string& ns, bool& is_granted) {
  if (is_granted) return OkStatus();  // tried again, since its connection was lost
  const auto begun = steady_clock::now();
  session.ExecuteText(kLimits);
  session.Execute(sql::kTakeBulkTurn, "winnow.dedup.bulk." + ns);
  wait_.Observe(std::chrono::duration<double>(steady_clock::now() - begun).count());
  is_granted = true;
  const auto given_back = std::make_shared<std::promise<void>>();
  std::future<void> end = given_back->get_future();
  granted_(ns, Turn(this, [given_back](void*) { given_back->set_value(); }));
  end.wait();
  return OkStatus();
}

}  // namespace winnow::dedup
