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
  const auto waiting = parts_.runs.RunsToActivate(In(kStepTime));
  if (!waiting.ok()) return;  // LeaseRun logs why
  for (const Run& run : *waiting) {
    const auto active =
        parts_.runs.ActivateRun(In(kStepTime), {run.video.ns, run.id}, {.actor = "winnow"});
    if (active.ok()) {
      if (parts_.projection != nullptr) parts_.projection->Wake();
      Activated(run.id);
      continue;
    }
    log::Warn("classification: a complete run stays aside",
              {{"run", run.id}, {"error", active.status().ToString()}});
    if (active.status().code() != StatusCode::kFailedPrecondition) continue;
    const Status dropped = parts_.runs.DropActivation(In(kStepTime), run.id);
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
    const auto agreement = parts_.runs.CompareActive(In(kStepTime), run);
    if (agreement.ok()) parts_.metrics.CountAgreement(agreement->same, agreement->different);
  }
}

void RunWorker::SweepLoop() {
  while (!stopping()) {
    Sweep();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop_.get_token(), options_.sweep, [] { return false; });
  }
}

template <class SweepSome>
void RunWorker::SweepOld(const char* what, const SweepSome& sweep) {
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

void RunWorker::Sweep() {
  const auto expired = parts_.comments.ExpiredVideos(In(kStepTime), kSweepBatch);
  if (!expired.ok()) {
    log::Warn("classification: no sweep now", {{"error", expired.status().ToString()}});
    return;
  }
  for (const VideoKey& key : *expired) {
    if (stopping()) return;
    const auto deleted = parts_.comments.DeleteVideo(In(kSweepTime), key, {.actor = "expiry"});
    if (!deleted.ok()) {
      log::Warn("classification: an expired video stays", {{"error", deleted.status().ToString()}});
      continue;
    }
    if (parts_.projection != nullptr) parts_.projection->Remove(key);
    log::Info("classification: a video expired", {{"comments", *deleted}});
  }
  SweepOld("verdicts", [&] { return parts_.leases.SweepCache(In(kStepTime), kSweepRows); });
  SweepOld("requests", [&] { return parts_.requests.SweepRequests(In(kStepTime), kSweepRows); });
}

}  // namespace winnow::classification
