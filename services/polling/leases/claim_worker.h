#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/grpc/call/call_context.h"
#include "services/polling/jobs/job_store.h"

namespace winnow::polling {

// Claims that wait for a job without holding a thread: one thread of its own looks for all of them,
// when something of this process became due, and a few times a second for what other processes did
// and what time did. Who waits longest is served first.
class ClaimWorker {
 public:
  struct Waiter {
    ClaimQuery query;
    Deadline until;  // then it is answered with nothing
    std::function<bool()> cancelled;
    std::function<void(StatusOr<ClaimResult>)> done;
  };
  // `found` is told of each claim's stale jobs once that has committed, whoever gets the answer.
  using Found = std::function<void(const std::string& kind, std::span<const StaleJob>)>;
  ClaimWorker(JobStore& store, Found found) : store_(store), found_(std::move(found)) {}
  ~ClaimWorker() { Stop(); }

  void Start();
  void Stop();
  // RESOURCE_EXHAUSTED, by `done`, when too many wait; UNAVAILABLE when it stops.
  void Add(Waiter waiter);
  // Jobs that were claimed for a caller who went away meanwhile: due again at once, instead of when
  // their leases end.
  void GiveBack(const std::string& kind, const std::vector<Job>& jobs);
  // Something may have become due: called after a commit.
  void Wake();

 private:
  void Run();
  // Looks once for each waiter; those that were answered are gone.
  void ServeAll(std::list<Waiter>& waiting);

  JobStore& store_;
  const Found found_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Waiter> new_;  // not yet seen by the thread
  size_t count_ = 0;
  bool stopping_ = false;
  bool woken_ = false;
  std::thread thread_;
};

}  // namespace winnow::polling
