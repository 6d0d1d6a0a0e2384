#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "services/dedup/decide/decision_worker.h"

namespace winnow::dedup {

// The decisions on documents that one thread hands over and waits for. They go to the worker some
// at a time, so that it decides the first while the others are being prepared. Every job is
// answered by its deadline or soon after; its `done` is set here.
class DecisionWaiter {
 public:
  // `ready`, if any: called once after Close, from any thread, when everything is decided.
  explicit DecisionWaiter(DecisionWorker& worker, std::function<void()> ready = {})
      : worker_(worker), ready_(std::move(ready)) {}
  ~DecisionWaiter();  // waits for what was submitted
  DecisionWaiter(const DecisionWaiter&) = delete;
  DecisionWaiter& operator=(const DecisionWaiter&) = delete;

  void Add(DecisionJob job);
  // Nothing more will be added.
  void Close();
  // For all that was submitted.
  void Wait();
  // Waits for the decision on the document that was added as number `place`, from 0; once each.
  // What was not submitted yet is.
  StatusOr<Decision> Take(size_t place);

 private:
  void Submit();
  // With the lock held: what is to be called without it, when it is time.
  std::function<void()> TakeReady();

  DecisionWorker& worker_;
  std::vector<DecisionJob> next_;  // not submitted yet
  size_t added_ = 0;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::optional<StatusOr<Decision>>> decisions_;  // by place, of what was submitted
  size_t open_ = 0;                                          // of them not decided yet
  size_t wanted_ = 0;                                        // the place that is waited for
  bool closed_ = false;
  std::function<void()> ready_;
};

}  // namespace winnow::dedup
