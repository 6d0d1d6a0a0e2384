#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/events/core/transport.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/postgres/log/sequencer.h"
#include "services/polling/jobs/job_metrics.h"
#include "services/polling/jobs/job_store.h"

namespace winnow::polling {

// What else follows the jobs, if anything does.
struct JobFollowers {
  pg::Sequencer* sequencer = nullptr;      // numbers history
  events::Transport* transport = nullptr;  // delivers the outbox
};

// Claims that wait for a job without holding a thread: one thread of its own looks for all of them,
// when something of this process became due, and a few times a second for what other processes did
// and what time did. The longest waiting call is served first.
class ClaimWorker {
 public:
  struct Waiter {
    ClaimQuery query;
    Deadline until;  // then it is answered with nothing
    std::function<bool()> cancelled;
    std::function<void(StatusOr<ClaimResult>)> done;
  };
  ClaimWorker(JobStore& store, JobMetrics& metrics, JobFollowers followers = {})
      : store_(store), metrics_(metrics), followers_(followers) {}
  ~ClaimWorker() { Stop(); }

  void Start();
  void Stop();
  // RESOURCE_EXHAUSTED, by `done`, when too many wait; UNAVAILABLE when it stops.
  void Add(Waiter waiter);
  // Jobs that were claimed for a caller who went away meanwhile: due again at once, instead of when
  // their leases end.
  void GiveBack(const std::string& kind, const std::vector<Job>& jobs);
  // History was written, or a job may have become due: called after a commit.
  void JobsChanged();
  // An event was written to the outbox: called after a commit.
  void EventsWritten();
  // Counts jobs that were taken from lost workers, and announces them. Called after a commit.
  void ReportStale(const std::string& kind, std::span<const StaleJob> stale);

 private:
  void Wake();
  void Run();
  // Looks once for each waiter; those that were answered are gone.
  void ServeAll(std::list<Waiter>& waiting);

  JobStore& store_;
  JobMetrics& metrics_;
  const JobFollowers followers_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Waiter> new_;  // not yet seen by the thread
  size_t count_ = 0;
  std::stop_source stop_;
  bool woken_ = false;
  std::jthread thread_;
};

}  // namespace winnow::polling
