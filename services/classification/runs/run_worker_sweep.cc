#include "services/classification/runs/run_worker.h"
#include "services/platform/process/log.h"

// What a worker does beside runs: complete ones become active, old things go.
namespace winnow::classification {
namespace {

constexpr std::chrono::seconds kStepTime(20);
constexpr std::chrono::minutes kSweepTime(5);
constexpr int kSweepBatch = 100;
constexpr int kSweepRows = 10'000;
constexpr size_t kMaxActivated = 100;

Deadline In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

}  // namespace

void RunWorker::ActivateComplete() {
  const auto waiting = store_.RunsToActivate(In(kStepTime));
  if (!waiting.ok()) return;  // LeaseRun tells why
  for (const Run& run : *waiting) {
    const auto active =
        store_.ActivateRun(In(kStepTime), {run.video.ns, run.id},
                           policies_.MaxFailedShare(In(kStepTime)), {.actor = "winnow"});
    if (active.ok()) {
      options_.video_changed(run.video);
      Activated(run.id);
      continue;
    }
    log::Warn("classification: a complete run stays aside",
              {{"run", run.id}, {"error", active.status().ToString()}});
    if (active.status().code() != StatusCode::kFailedPrecondition) continue;
    const Status dropped = store_.DropActivation(In(kStepTime), run.id);
    if (!dropped.ok()) log::Warn("classification: it will be tried again", {{"run", run.id}});
  }
}

void RunWorker::Activated(int64_t run) {
  {
    const std::lock_guard lock(mutex_);
    if (activated_.size() < kMaxActivated) activated_.push_back(run);
    ++wakes_;
  }
  changed_.notify_all();
}

// A figure for operators: what cannot be counted now is not counted.
void RunWorker::CompareActivated() {
  std::vector<int64_t> activated;
  {
    const std::lock_guard lock(mutex_);
    activated.swap(activated_);
  }
  for (const int64_t run : activated) {
    const auto agreement = store_.CompareActive(In(kStepTime), run);
    if (agreement.ok()) metrics_.CountAgreement(agreement->same, agreement->different);
  }
}

void RunWorker::SweepLoop() {
  while (!stopping()) {
    Sweep();
    const Deadline next = In(options_.sweep);
    while (std::chrono::steady_clock::now() < next) {
      std::unique_lock lock(mutex_);
      if (changed_.wait_until(lock, next, [this] { return stopping_; })) return;
    }
  }
}

void RunWorker::Sweep() {
  const auto expired = store_.ExpiredVideos(In(kStepTime), kSweepBatch);
  if (!expired.ok()) {
    log::Warn("classification: no sweep now", {{"error", expired.status().ToString()}});
    return;
  }
  for (const VideoKey& key : *expired) {
    if (stopping()) return;
    const auto deleted = store_.DeleteVideo(In(kSweepTime), key, {.actor = "expiry"});
    if (!deleted.ok()) {
      log::Warn("classification: an expired video stays", {{"error", deleted.status().ToString()}});
      continue;
    }
    options_.video_deleted(key);
    log::Info("classification: a video expired", {{"comments", *deleted}});
  }
  SweepOld("verdicts", [&] { return store_.SweepCache(In(kStepTime), kSweepRows); });
  SweepOld("requests", [&] { return store_.SweepRequests(In(kStepTime), kSweepRows); });
}

void RunWorker::SweepOld(const char* what, const std::function<StatusOr<int64_t>()>& sweep) {
  for (int64_t dropped = kSweepRows; dropped == kSweepRows && !stopping();) {
    const auto swept = sweep();
    if (!swept.ok()) {
      log::Warn("classification: what is old stays",
                {{"what", what}, {"error", swept.status().ToString()}});
      return;
    }
    dropped = *swept;
  }
}

}  // namespace winnow::classification
