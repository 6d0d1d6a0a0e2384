#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "services/platform/base/clock.h"

namespace winnow::rpc {

// A call that holds no thread and may last long: a stream or a long poll.
class LongCall {
 public:
  virtual ~LongCall() = default;
  // Ends with UNAVAILABLE SHUTTING_DOWN, after what it has already taken in.
  virtual void EndForShutdown() = 0;
  // Since when nothing has come or gone; nothing for a call that has work, or is meant to wait.
  virtual std::optional<Deadline> IdleSince() { return std::nullopt; }
  // Ends an idle one with RESOURCE_EXHAUSTED, since another needs its place.
  virtual void EndForRoom() {}
};

// The long calls of one kind: a limit on their number, and how shutdown reaches them.
class LongCalls {
 public:
  // One that was idle for `patience` gives its place up when there is no other.
  LongCalls(size_t limit, std::chrono::milliseconds patience)
      : limit_(limit), patience_(patience) {}

  // Keeps its place until destroyed. Holds no call alive.
  class Place {
   public:
    Place(LongCalls* calls, LongCall* call) : calls_(calls), call_(call) {}
    ~Place() { calls_->Remove(call_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    LongCalls* calls_;
    LongCall* call_;
  };

  // Null when the limit is reached and none is idle. A call that comes while shutting down is ended
  // at once.
  std::unique_ptr<Place> Add(const std::shared_ptr<LongCall>& call);
  void EndAll();

 private:
  std::unique_ptr<Place> TryAdd(const std::shared_ptr<LongCall>& call);
  std::shared_ptr<LongCall> TakeOutIdlest();
  void Remove(LongCall* call);

  const size_t limit_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  bool ending_ = false;
  std::unordered_map<LongCall*, std::weak_ptr<LongCall>> calls_;
};

// Counts the calls that came from outside this process, so that a drain can wait for them. Calls of
// in-process peers go on until their workers stop: flushing the outbox needs them.
class OutsideCalls {
 public:
  // False when outside calls are no longer taken.
  bool Begin();
  void End();
  // From now on Begin() is false.
  void Refuse();
  // Whether none is left before the deadline.
  bool WaitUntilNone(Deadline deadline);

 private:
  std::atomic<int64_t> count_ = 0;
  std::atomic<bool> refusing_ = false;
  std::mutex mutex_;
  std::condition_variable none_;
};

}  // namespace winnow::rpc
