#include "services/platform/grpc/job_pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace winnow::rpc {

JobPool::JobPool(std::string name, int threads, int queue_limit)
    : name_(std::move(name)), queue_limit_(std::max(1, queue_limit)) {
  for (int i = 0; i < std::max(1, threads); ++i) {
    threads_.emplace_back([this, i] { Work(i); });
  }
}

bool JobPool::TryPush(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || depth_ >= queue_limit_) return false;
    // Counting a message's bytes takes time, which only those pay that wait behind others.
    job.bytes_ = depth_ == 0 ? 0 : job.Bytes();
    if (bytes_ + job.bytes_ > kMaxWaitingBytes) return false;
    Append(job);
  }
  wake_.notify_one();
  return true;
}

void JobPool::Push(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    Append(job);
  }
  wake_.notify_one();
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

void JobPool::Work(int index) {
  const std::string name = (name_ + "-" + std::to_string(index)).substr(0, 15);  // the kernel's max
  pthread_setname_np(pthread_self(), name.c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return first_ != nullptr || stopping_; });
    if (first_ == nullptr) return;
    Job* job = std::exchange(first_, first_->next_);
    --depth_;
    bytes_ -= job->bytes_;
    lock.unlock();
    job->Run();
    lock.lock();
  }
}

void JobPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace winnow::rpc
