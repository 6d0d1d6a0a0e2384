#include "services/platform/grpc/runtime/job_pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace winnow::rpc {

JobPool::JobPool(std::string name, int threads, int queue_limit)
    : name_(std::move(name)), queue_limit_(std::max(1, queue_limit)) {
  try {
    for (int i = 0; i < std::max(1, threads); ++i) {
      Sleeper& bed = beds_.emplace_back();
      threads_.emplace_back([this, i, &bed] { Work(i, bed); });
    }
  } catch (...) {  // as many threads as the system allows: those that run must be joined
    Stop();
    throw;
  }
}

bool JobPool::TryPush(Job& job) {
  Sleeper* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || depth_ >= queue_limit_) return false;
    // Counting a message's bytes takes time, which only those pay that wait behind others.
    job.bytes_ = depth_ == 0 ? 0 : job.Bytes();
    if (bytes_ + job.bytes_ > kMaxWaitingBytes) return false;
    Append(job);
    woken = WakesOne();
  }
  Notify(woken);
  return true;
}

void JobPool::Push(Job& job) {
  Sleeper* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Append(job);
    woken = WakesOne();
  }
  Notify(woken);
}

JobPool::Sleeper* JobPool::WakesOne() {
  if (sleepers_.empty() || waking_) return nullptr;
  waking_ = true;
  Sleeper* const sleeper = sleepers_.back();
  sleepers_.pop_back();
  sleeper->woken = true;
  return sleeper;
}

void JobPool::Notify(Sleeper* sleeper) {
  if (sleeper != nullptr) sleeper->wake.notify_one();
}

void JobPool::Sleep(std::unique_lock<std::mutex>& lock, Sleeper& self) {
  self.woken = false;
  sleepers_.push_back(&self);
  self.wake.wait(lock, [&] { return self.woken || stopping_; });
  if (self.woken) waking_ = false;
}

void JobPool::Append(Job& job) {
  job.next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = &job;
  last_ = &job;
  ++depth_;
  bytes_ += job.bytes_;
}

int JobPool::Depth() const {
  const std::lock_guard lock(mutex_);
  return depth_;
}

void JobPool::Work(int index, Sleeper& self) {
  const std::string name = (name_ + "-" + std::to_string(index)).substr(0, 15);  // the kernel's max
  pthread_setname_np(pthread_self(), name.c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    while (first_ == nullptr && !stopping_) Sleep(lock, self);
    if (first_ == nullptr) return;
    Job* job = std::exchange(first_, first_->next_);
    --depth_;
    bytes_ -= job->bytes_;
    Sleeper* const woken = first_ == nullptr ? nullptr : WakesOne();
    lock.unlock();
    Notify(woken);
    job->Run();
    lock.lock();
  }
}

void JobPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (Sleeper& bed : beds_) bed.wake.notify_one();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace winnow::rpc
