#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace winnow::rpc {

// One piece of work. Intrusive, so that queueing a call allocates nothing. Run() may delete it.
class Job {
 public:
  virtual ~Job() = default;
  virtual void Run() = 0;
  // Memory that it holds while it waits.
  virtual size_t Bytes() const { return 0; }

 private:
  friend class JobPool;
  Job* next_ = nullptr;
  size_t bytes_ = 0;
};

// Threads that run jobs in the order they came, from a bounded queue.
class JobPool {
 public:
  // Requests of this many bytes may wait: a thousand of the largest would not fit into memory.
  static constexpr size_t kMaxWaitingBytes = size_t{256} << 20;

  JobPool(std::string name, int threads, int queue_limit);
  ~JobPool() { Stop(); }

  // False, and the job stays the caller's, when as many jobs wait, or as many bytes, as may.
  [[nodiscard]] bool TryPush(Job& job);
  // Past the limit: for streams: they were admitted, and queue two jobs each at most.
  void Push(Job& job);
  int Depth() const;

  // Runs what waits, and ends the threads. Nothing may be pushed afterwards.
  void Stop();

 private:
  // A thread while it has nothing to do.
  struct Sleeper {
    std::condition_variable wake;
    bool woken = false;
  };

  void Append(Job& job);
  // What the caller must notify after it released the lock; null: nothing. One thread is
  // woken at a time, and wakes the next if work is left: a burst costs one wake-up and not one a
  // job. The one that fell asleep last comes first: its caches are the warmest.
  Sleeper* WakesOne();
  static void Notify(Sleeper* sleeper);
  void Sleep(std::unique_lock<std::mutex>& lock, Sleeper& self);
  void Work(int index, Sleeper& self);

  const std::string name_;
  const int queue_limit_;
  mutable std::mutex mutex_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  int depth_ = 0;
  size_t bytes_ = 0;
  std::deque<Sleeper> beds_;        // one a thread; they outlive the threads
  std::vector<Sleeper*> sleepers_;  // the last to fall asleep is the last
  bool waking_ = false;             // a thread was notified and has not looked at the queue yet
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace winnow::rpc
