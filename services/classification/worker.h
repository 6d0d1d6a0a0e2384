#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/classification/classifier.h"
#include "services/classification/store.h"
#include "services/classification/store_metrics.h"
#include "services/classification/worker_policies.h"

namespace winnow::classification {

// Works on runs under a lease, activates those that asked for it, and deletes what has expired.
// Several processes may do so: a lease has one holder, and a dead one's run is taken over.
class Worker {
 public:
  struct Options {
    std::string name;  // of this process, for the lease
    std::map<std::string, std::shared_ptr<Classifier>> classifiers;
    std::chrono::milliseconds poll = std::chrono::milliseconds(1000);
    std::chrono::seconds sweep = std::chrono::seconds(60);
    std::function<void(const VideoKey&)> video_changed = [](const VideoKey&) {};
    std::function<void(const VideoKey&)> video_deleted = [](const VideoKey&) {};
  };
  Worker(Store& store, Policies& policies, VerdictMetrics& metrics, Options options);
  ~Worker() { Stop(); }

  void Start();
  void Stop();
  // A run was started or completed: look now.
  void Wake();
  // Passes time; false, at once, when the worker stops.
  bool Pause(std::chrono::milliseconds time);

 private:
  void Loop();
  void SweepLoop();
  // Whether there was a run to work on.
  bool WorkOnce();
  void Work(const Lease& lease);
  Status Step(const Lease& lease, Classifier& classifier, const Decider& decider, int64_t& after,
              int64_t& spent, bool& done);
  // Writes what other runs said of the same texts; those comments leave the batch.
  StatusOr<bool> TakeOver(const Lease& lease, std::vector<Comment>& comments);
  // Extends the lease of the run that is worked on, so that a slow model does not lose it.
  void BeatLoop();
  void SetLease(const Lease* lease);
  void ActivateComplete();
  void Sweep();
  bool stopping() const;
  // False when stopping.
  bool WaitFor(std::chrono::milliseconds time);

  Store& store_;
  Policies& policies_;
  VerdictMetrics& metrics_;
  const Options options_;
  std::vector<std::string> names_;  // of classifiers
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool woken_ = false;
  std::optional<Lease> held_;
  bool lost_ = false;  // the lease, since it was held
  std::vector<std::thread> threads_;
};

}  // namespace winnow::classification
