#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/collector/quota/ledger_client.h"
#include "services/collector/quota/quota_store.h"
#include "services/collector/runs/run_worker.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/postgres/log/sequencer.h"
#include "services/platform/process/metrics.h"

namespace winnow::collector {

// Runs sources whose time has come. Of several processes one does so, by a lease; when it dies
// another takes over once the lease has ended, and runs again what was not ended.
class ScheduleWorker {
 public:
  struct Options {
    std::string holder;  // this process, a UUID
    std::chrono::milliseconds lease{10'000};
    int threads = 4;
    std::chrono::seconds run_retention = std::chrono::hours(24 * 7);
    pg::Sequencer* sequencer = nullptr;  // numbers ended runs; null: runs cannot be watched
  };
  // All outlive it.
  ScheduleWorker(SourceStore& sources, QuotaStore& quotas, LedgerClient& ledger, RunWorker& runner,
                 const Clock& clock, Metrics& metrics, Options options);
  ~ScheduleWorker() { Stop(); }

  void Start();
  // Cuts runs short; they are ended as partial, and run again soon.
  void Stop();
  // A source may have to run now.
  void Wake();

 private:
  void Loop();
  Status Step();
  Status TakeLease(bool& held);
  Status ClaimDue();
  void Sweep();
  Status Measure();
  void Work();
  void Execute(const Claim& claim);
  void Count(const Run& run);

  SourceStore& sources_;
  QuotaStore& quotas_;
  LedgerClient& ledger_;
  RunWorker& runner_;
  const Clock& clock_;
  Metrics& metrics_;
  const Options options_;
  Gauge& leads_;

  // Of the loop.
  bool leading_ = false;
  bool told_ = false;  // that steps fail
  Deadline next_sweep_{};
  Deadline next_measure_{};

  std::stop_source stop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  bool woken_ = false;
  std::deque<Claim> waiting_;
  size_t busy_ = 0;  // claims that wait or run
  std::thread loop_;
  std::vector<std::thread> workers_;
};

}  // namespace winnow::collector
