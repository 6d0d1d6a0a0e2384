#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "services/polling/jobs/job_metrics.h"
#include "services/polling/jobs/job_store.h"
#include "services/polling/leases/claim_worker.h"

namespace winnow::polling {

// Sweeps what went stale, in batches that skip what others have locked: any number of processes do
// so, and none is the one to lose. Lost leases are looked for all the time, the other two clocks at
// each kind's sweep_interval, when ended jobs beyond their retention go, too. Keeps the gauges.
class SweepWorker {
 public:
  struct Options {
    std::chrono::milliseconds every = std::chrono::milliseconds(1000);
    std::chrono::milliseconds gauges_every = std::chrono::milliseconds(10'000);
    int batch = 200;
  };
  SweepWorker(JobStore& store, ClaimWorker& claims, JobMetrics& metrics, Options options)
      : store_(store), claims_(claims), metrics_(metrics), options_(options) {}
  ~SweepWorker() { Stop(); }

  void Start();
  void Stop();
  // One round over all kinds. For tests too.
  Status SweepAll();

 private:
  void Run();
  bool stopping() const { return stop_.stop_requested(); }
  Status SweepKind(const KindToSweep& kind);
  Status SweepBy(const std::string& kind, SweepClock clock);
  Status ExpireEnded(const std::string& kind);
  Status SetGauges();

  JobStore& store_;
  ClaimWorker& claims_;
  JobMetrics& metrics_;
  const Options options_;
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace winnow::polling
