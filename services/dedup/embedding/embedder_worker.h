#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/dedup/embedding/circuit.h"
#include "services/dedup/embedding/embedder.h"
#include "services/dedup/embedding/embedder_pace.h"
#include "services/dedup/embedding/embedding_cache.h"
#include "services/platform/process/metrics.h"

namespace winnow::dedup {

struct EmbedderWorkerOptions {
  size_t capacity = 100'000;                   // vectors kept; 0 keeps none
  std::chrono::milliseconds call_time{1'000};  // a call that takes longer has failed
  // Who is urgent waits at least so long for a call, and longer for one that usually takes longer.
  std::chrono::milliseconds patience{100};
};

// Asks another embedder for what it has not asked of late, each text once, and not at all while
// that one keeps failing: a document is then decided without meaning, at once.
//
// Calls are made by two threads of their own, one at a time for urgent documents, which a call
// waits for, and one for bulk, so that callers may leave before the response. An urgent caller
// leaves when a call takes several times as long as such calls did of late; while it lasts no other
// document waits or asks. A response that comes then is cached, and shows how long calls take now.
// So an embedder that stalls costs a few callers their patience, and one that became slower is
// waited for again after its first answer. Bulk waits for the end of its calls, and so does
// everybody before the first answer. A comparison, which nothing waits behind, makes its call
// itself.
class EmbedderWorker final {
 public:
  enum class Caller { kUrgent, kBulk, kComparison };

  EmbedderWorker(std::unique_ptr<Embedder> model, const EmbedderWorkerOptions& options,
                 Metrics& metrics);
  // No more calls are made. Waits for the calls that are under way, up to their `call_time`.
  ~EmbedderWorker();
  EmbedderWorker(const EmbedderWorker&) = delete;
  EmbedderWorker& operator=(const EmbedderWorker&) = delete;

  const EmbedderCalibration& calibration() const { return model_->calibration(); }
  // As Embedder's. The call goes on after `deadline`; a comparison waits for its end.
  StatusOr<std::vector<index::Vector>> Embed(std::span<const std::string> texts, Deadline deadline,
                                             Caller caller);

  struct Counts {
    int64_t hits = 0;  // texts whose vector was known
    int64_t misses = 0;
    int64_t failures = 0;  // calls that failed
    bool is_down = false;  // it is not asked, because it fails
  };
  Counts counts() const;

 private:
  struct Call {
    std::vector<std::string> texts;  // does not change once the call is under way
    Deadline begun;
    Deadline expected;                   // when an answer would be as usual
    Deadline overdue = Deadline::max();  // the longest that a document waits
    std::optional<StatusOr<std::vector<index::Vector>>> result;
  };
  struct CallLane {
    std::shared_ptr<Call> call;  // under way; null: none
    std::jthread thread;
  };

  // Fills in what is cached; gives the texts that are not, each once.
  std::vector<std::string> TakeCached(std::span<const std::string> texts,
                                      std::vector<index::Vector>& vectors);
  // With the lock held, but for the wait.
  StatusOr<std::vector<index::Vector>> Ask(std::unique_lock<std::mutex>& lock,
                                           std::vector<std::string> texts, Deadline deadline,
                                           Caller caller);

  // The rest with the lock held.
  void Begin(CallLane& lane, std::vector<std::string> texts);
  // Of the lane's thread: makes its calls; the urgent one's tries whether a failing embedder is
  // back, too, so that no document waits for that.
  void Run(CallLane& lane, const std::stop_token& stop);
  void MakeCall(CallLane& lane, std::unique_lock<std::mutex>& lock);
  void Settle(Call& call, StatusOr<std::vector<index::Vector>> result);

  const std::unique_ptr<Embedder> model_;
  const EmbedderWorkerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;  // a call begins or ends; the circuit
  Counts counts_;
  EmbeddingCache cache_;
  EmbedderPace pace_;
  Circuit circuit_;
  CallLane urgent_;
  CallLane bulk_;
  Counter& hits_;
  Counter& misses_;
  Counter& failures_;
  Counter& overdue_;
  Counter& refusals_;
  Gauge& is_down_;
  Histogram& seconds_;
};

}  // namespace winnow::dedup
