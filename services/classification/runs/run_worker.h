#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/classification/comments/comment_store.h"
#include "services/classification/comments/request_store.h"
#include "services/classification/policy/classifier.h"
#include "services/classification/policy/policy_store.h"
#include "services/classification/projection/projection_worker.h"
#include "services/classification/runs/lease_store.h"
#include "services/classification/runs/run_store.h"
#include "services/classification/runs/verdict_metrics.h"

namespace winnow::classification {

// Works on runs under a lease, activates those that asked for it, and deletes what has expired.
// Several processes may do so: a lease has one holder, and a dead one's run is taken over.
class RunWorker {
 public:
  struct Parts {
    LeaseStore& leases;
    RunStore& runs;
    CommentStore& comments;
    RequestStore& requests;
    CachedPolicyStore& policies;
    VerdictMetrics& metrics;
    ProjectionWorker* projection;  // null: no Redis
  };
  struct Options {
    std::string name;  // of this process, for the lease
    std::map<std::string, std::shared_ptr<Classifier>> classifiers;
    std::chrono::milliseconds poll = std::chrono::milliseconds(1000);
    std::chrono::seconds sweep = std::chrono::seconds(60);
  };
  RunWorker(const Parts& parts, Options options);
  ~RunWorker() { Stop(); }

  void Start();
  void Stop();
  // A run was started or completed: look now.
  void Wake();
  // A run became active: how it differs from the one before is counted.
  void Activated(int64_t run);

 private:
  // One run at a time of one classifier: a slow model does not delay the runs of others.
  struct ClassifierLane {
    std::vector<std::string> name;  // of the classifier
    std::shared_ptr<Classifier> classifier;
    std::optional<Lease> held;
    bool lost = false;  // the lease, since it was held
  };
  struct Working;  // a run that a lane works on
  class Sink;

  void LaneLoop(ClassifierLane& lane);
  void ActivateLoop();
  void SweepLoop();
  // Extends the leases of the runs that are worked on, so that a slow model does not lose them.
  void BeatLoop();

  // Whether there was a run to work on.
  bool WorkOnce(ClassifierLane& lane);
  Status WorkOn(Working& work);
  Status Step(Working& work);
  // Writes what was said before of the same texts; those comments leave the batch.
  Status TakeFromCache(Working& work, std::vector<Comment>& comments);
  Status Deliver(Working& work, std::span<const Comment> comments, const Delivery& delivery);
  Status Write(Working& work, std::span<const CommentOutcome> outcomes, const Settlement& cost,
               const std::string& cache_name);
  Status Pause(Working& work, Failure reason);
  void SetLease(ClassifierLane& lane, const Lease* lease);
  bool IsWanted(const ClassifierLane& lane) const;
  void ActivateComplete();
  void CompareActivated();
  void Sweep();
  // Drops a few at a time, until there are no more.
  template <class SweepSome>
  void SweepOld(const char* what, const SweepSome& sweep);
  bool stopping() const { return stop_.stop_requested(); }
  // Passes time, less when woken after `wakes`, which is brought up to date. False when stopping.
  bool WaitFor(std::chrono::milliseconds time, uint64_t& wakes);

  const Parts parts_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::stop_source stop_;
  uint64_t wakes_ = 0;
  std::vector<int64_t> activated_;  // not compared yet; at most kMaxActivated
  std::vector<std::unique_ptr<ClassifierLane>> lanes_;
  std::vector<std::jthread> threads_;
};

}  // namespace winnow::classification
