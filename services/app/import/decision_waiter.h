#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/app/client/client.h"
#include "services/platform/base/status.h"
#include "winnow/dedup/v1/dedup_service.grpc.pb.h"

namespace winnow::app {

// Asks DedupService what it decided about items, until it has: a decision follows an item by an
// event, moments later. Several questions are in flight at a time, oldest item first; while the
// oldest are not decided the younger are not asked for, so that waiting costs the server little.
class DecisionWaiter {
 public:
  using OnDecided = std::function<void(const std::string& id, bool duplicate)>;  // any thread

  DecisionWaiter(const Remote& remote, std::string item_namespace, OnDecided on_decided);
  ~DecisionWaiter();

  void Add(std::string id);
  size_t waiting() const;
  // Until at most `count` wait, or `limit` has passed; whether it is so.
  bool WaitUntilAtMost(size_t count, std::chrono::milliseconds limit);
  // Since the last decision, or since there is anything to decide.
  std::chrono::steady_clock::duration idle() const;
  // Why it gave up; OK while it has not.
  Status error() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Question {
    std::string id;
    int tries = 0;
  };

  void Work();
  // Takes a question off the queue when one is due; false at the end.
  bool Take(Question& question, std::unique_lock<std::mutex>& lock);
  void Answered(Question question, const Status& status);

  const Client<dedup::v1::DedupService> server_;
  const std::string namespace_;
  const OnDecided on_decided_;

  mutable std::mutex mutex_;
  std::condition_variable_any due_;
  std::condition_variable fewer_;
  std::deque<Question> questions_;  // oldest first
  Clock::time_point not_before_;    // to ask the next one
  size_t asking_ = 0;
  Clock::time_point last_progress_;
  std::stop_source stop_;
  Status error_;
  std::vector<std::thread> threads_;
};

}  // namespace winnow::app
