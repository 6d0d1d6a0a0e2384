#include "services/dedup/embedding/embedder_worker.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace winnow::dedup {
namespace {

using std::chrono::steady_clock;
using Vectors = std::vector<index::Vector>;

// A call that takes so many times as long as such calls did of late is overdue: twice for what
// their number of texts leaves open, and as much for an endpoint that is busy.
constexpr int kTimesUsual = 4;

Counter& CacheTotal(Metrics& metrics, const char* outcome) {
  return metrics.GetCounter("winnow_dedup_embedding_cache_total",
                            "Texts whose vector was asked for.", {{"outcome", outcome}});
}

Counter& FailuresTotal(Metrics& metrics, const char* kind) {
  return metrics.GetCounter("winnow_dedup_embedding_failures_total",
                            "Calls of the embedder that failed, whose answer was not waited for"
                            " (overdue), or that were not made because it fails or is overdue.",
                            {{"kind", kind}});
}

}  // namespace

EmbedderWorker::EmbedderWorker(std::unique_ptr<Embedder> model,
                               const EmbedderWorkerOptions& options, Metrics& metrics)
    : model_(std::move(model)),
      options_(options),
      cache_(options.capacity),
      hits_(CacheTotal(metrics, "hit")),
      misses_(CacheTotal(metrics, "miss")),
      failures_(FailuresTotal(metrics, "failed")),
      overdue_(FailuresTotal(metrics, "overdue")),
      refusals_(FailuresTotal(metrics, "not_made")),
      is_down_(metrics.GetGauge("winnow_dedup_embedder_down",
                                "1 while the embedder is not asked because it fails.")),
      seconds_(metrics.GetHistogram("winnow_dedup_embedding_seconds",
                                    "Time of a call of the embedder.", Metrics::LatencyBuckets())) {
  for (CallLane* lane : {&urgent_, &bulk_}) {
    lane->thread = std::jthread([this, lane](const std::stop_token& stop) { Run(*lane, stop); });
  }
}

EmbedderWorker::~EmbedderWorker() {
  for (CallLane* lane : {&urgent_, &bulk_}) lane->thread.request_stop();
  for (CallLane* lane : {&urgent_, &bulk_}) lane->thread.join();
}

EmbedderWorker::Counts EmbedderWorker::counts() const {
  std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.is_down = circuit_.is_open();
  return counts;
}

std::vector<std::string> EmbedderWorker::TakeCached(std::span<const std::string> texts,
                                                    Vectors& vectors) {
  std::vector<std::string> missing;
  std::unordered_map<std::string_view, bool> asked;
  for (size_t i = 0; i < texts.size(); ++i) {
    const index::Vector* known = cache_.Find(texts[i]);
    if (known != nullptr) vectors[i] = *known;
    (known != nullptr ? hits_ : misses_).Increment();
    ++(known != nullptr ? counts_.hits : counts_.misses);
    if (known == nullptr && asked.emplace(texts[i], true).second) missing.push_back(texts[i]);
  }
  return missing;
}

StatusOr<Vectors> EmbedderWorker::Embed(std::span<const std::string> texts, Deadline deadline,
                                        Caller caller) {
  Vectors vectors(texts.size());
  std::unique_lock lock(mutex_);
  const std::vector<std::string> missing = TakeCached(texts, vectors);
  if (missing.empty()) return vectors;
  WINNOW_ASSIGN_OR_RETURN(const Vectors fresh, Ask(lock, missing, deadline, caller));
  lock.unlock();
  std::unordered_map<std::string_view, const index::Vector*> by_text;
  for (size_t i = 0; i < missing.size(); ++i) by_text[missing[i]] = &fresh[i];
  for (size_t i = 0; i < texts.size(); ++i) {
    if (vectors[i].empty()) vectors[i] = *by_text.at(texts[i]);
  }
  return vectors;
}

StatusOr<Vectors> EmbedderWorker::Ask(std::unique_lock<std::mutex>& lock,
                                      std::vector<std::string> texts, Deadline deadline,
                                      Caller caller) {
  CallLane own;
  CallLane& lane = caller == Caller::kUrgent ? urgent_ : caller == Caller::kBulk ? bulk_ : own;
  while (lane.call && !circuit_.is_open()) {
    const Deadline until = std::min(deadline, lane.call->overdue);
    if (steady_clock::now() >= until) break;
    changed_.wait_until(lock, until);
  }
  if (lane.call || circuit_.is_open()) {
    refusals_.Increment();
    return Unavailable(Reason::kPeerUnavailable,
                       circuit_.is_open() ? "the embedder is failing; calls resume after a pause"
                                          : "an earlier call to the embedder is still unanswered",
                       Circuit::kFirstPause);
  }
  Begin(lane, std::move(texts));
  const std::shared_ptr<Call> call = lane.call;
  changed_.notify_all();
  if (&lane == &own) MakeCall(own, lock);
  const Deadline until = std::min(deadline, call->overdue);
  if (!changed_.wait_until(lock, until, [&] { return call->result.has_value(); })) {
    overdue_.Increment();
    return DeadlineExceeded("the embedder did not respond within its time limit");
  }
  return *std::move(call->result);
}

void EmbedderWorker::Begin(CallLane& lane, std::vector<std::string> texts) {
  const auto now = steady_clock::now();
  const std::optional<EmbedderPace::Time> usual = pace_.Of(texts.size());
  lane.call = std::make_shared<Call>();
  lane.call->texts = std::move(texts);
  lane.call->begun = now;
  lane.call->expected = now + usual.value_or(options_.call_time);
  // Bulk has the time, and would miss the vectors of many.
  if (&lane != &urgent_ || !usual) return;
  // The endpoint may answer one call after the other.
  const Deadline free = bulk_.call ? std::max(now, bulk_.call->expected) : now;
  lane.call->overdue = free + std::max<EmbedderPace::Time>(options_.patience, kTimesUsual * *usual);
}

void EmbedderWorker::Run(CallLane& lane, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto has_call = [&] { return lane.call != nullptr; };
  while (!stop.stop_requested()) {
    if (lane.call) {
      MakeCall(lane, lock);
    } else if (&lane == &bulk_ || !circuit_.is_open()) {
      changed_.wait(lock, stop,
                    [&] { return has_call() || (&lane == &urgent_ && circuit_.is_open()); });
    } else if (circuit_.TryBegin(steady_clock::now())) {
      Begin(lane, {"winnow"});
    } else {
      changed_.wait_until(lock, stop, circuit_.next_try(),
                          [&] { return has_call() || !circuit_.is_open(); });
    }
  }
}

void EmbedderWorker::MakeCall(CallLane& lane, std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Call> call = lane.call;
  lock.unlock();
  StatusOr<Vectors> result = model_->Embed(call->texts, call->begun + options_.call_time);
  lock.lock();
  Settle(*call, std::move(result));
  lane.call = nullptr;
  changed_.notify_all();
}

// Only a response shows how long calls take, and only a call's own end whether the embedder fails:
// a caller that gave up shows neither.
void EmbedderWorker::Settle(Call& call, StatusOr<Vectors> result) {
  const EmbedderPace::Time elapsed = steady_clock::now() - call.begun;
  seconds_.Observe(std::chrono::duration<double>(elapsed).count());
  if (result.ok()) {
    circuit_.Succeed();
    pace_.Learn(call.texts.size(), elapsed);
    for (size_t i = 0; i < call.texts.size(); ++i) cache_.Put(call.texts[i], (*result)[i]);
  } else {
    failures_.Increment();
    ++counts_.failures;
    circuit_.Fail(steady_clock::now());
  }
  is_down_.Set(circuit_.is_open() ? 1 : 0);
  call.result = std::move(result);
}

}  // namespace winnow::dedup
