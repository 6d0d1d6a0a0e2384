#include "services/classification/runs/run_worker.h"

#include <atomic>
#include <set>

#include "services/platform/process/log.h"

// Works runs off. Besides: complete runs become active, what is over its retention goes.
namespace winnow::classification {
namespace {

constexpr std::chrono::seconds kStepTime(20);
constexpr std::chrono::seconds kBeat(10);  // a third of a lease
constexpr std::chrono::milliseconds kBetweenTries(500);
constexpr int kTries = 6;

constexpr std::chrono::minutes kSweepTime(5);
constexpr int kSweepBatch = 100;
constexpr int kSweepRows = 10'000;
constexpr size_t kMaxActivated = 100;

Deadline In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

}  // namespace

struct RunWorker::Working {
  ClassifierLane& lane;
  const Lease& lease;
  const Decider& decider;
  const std::string cache_name;
  int64_t after = 0;  // comments up to this number were seen
  std::atomic<bool> done = false;
};

RunWorker::RunWorker(const Parts& parts, Options options)
    : parts_(parts), options_(std::move(options)) {
  for (const auto& [name, classifier] : options_.classifiers) {
    lanes_.push_back(
        std::make_unique<ClassifierLane>(ClassifierLane{{name}, classifier, std::nullopt, false}));
  }
}

void RunWorker::Start() {
  for (const auto& lane : lanes_) {
    threads_.emplace_back([this, lane = lane.get()] { LaneLoop(*lane); });
  }
  threads_.emplace_back([this] { ActivateLoop(); });
  threads_.emplace_back([this] { SweepLoop(); });
  threads_.emplace_back([this] { BeatLoop(); });
}

void RunWorker::Stop() {
  stop_.request_stop();
  threads_.clear();
}

void RunWorker::Wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  changed_.notify_all();
}

bool RunWorker::WaitFor(std::chrono::milliseconds time, uint64_t& wakes) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop_.get_token(), time, [&] { return wakes_ != wakes; });
  wakes = wakes_;
  return !stopping();
}

void RunWorker::LaneLoop(ClassifierLane& lane) {
  uint64_t wakes = 0;
  while (!stopping()) {
    if (!WorkOnce(lane) && !WaitFor(options_.poll, wakes)) return;
  }
}

void RunWorker::ActivateLoop() {
  uint64_t wakes = 0;
  do {
    ActivateComplete();
    CompareActivated();
  } while (WaitFor(options_.poll, wakes));
}

bool RunWorker::WorkOnce(ClassifierLane& lane) {
  const auto lease = parts_.leases.LeaseRun(In(kStepTime), options_.name, lane.name);
  if (!lease.ok()) {
    log::Warn("classification: no run can be leased", {{"error", lease.status().ToString()}});
    return false;
  }
  if (!*lease) return false;
  const Run& run = (*lease)->run;
  const auto decider =
      parts_.policies.Get(In(kStepTime), run.video.ns, run.policy, run.policy_version);
  Status status = decider.status();
  if (status.ok()) {
    Working work{lane, **lease, **decider, lane.classifier->CacheName(**decider)};
    SetLease(lane, &**lease);
    status = WorkOn(work);
    SetLease(lane, nullptr);
    if (work.done) Wake();  // it may have to be activated
    if (work.done && status.ok()) return true;
  }
  if (!status.ok()) {
    log::Warn("classification: a run is left for another try",
              {{"run", run.id}, {"error", status.ToString()}});
  }
  // Stopping, or the store is away: the next worker continues with the pending comments.
  if (!parts_.leases.ReleaseRun(In(kStepTime), **lease).ok()) {
    log::Info("classification: a lease runs out by itself", {{"run", run.id}});
  }
  return status.ok();
}

// Writes what the classifier says of one batch.
class RunWorker::Sink final : public TaskSink {
 public:
  Sink(RunWorker& worker, Working& work, std::span<const Comment> comments)
      : worker_(worker), work_(work), comments_(comments) {}

  Status Deliver(const Delivery& delivery) override {
    return worker_.Deliver(work_, comments_, delivery);
  }
  StatusOr<int64_t> Reserve(int64_t micros) override {
    return worker_.parts_.leases.ReserveCost(In(kStepTime), work_.lease, micros);
  }
  bool IsStopped() const override { return !worker_.IsWanted(work_.lane); }

 private:
  RunWorker& worker_;
  Working& work_;
  const std::span<const Comment> comments_;
};

Status RunWorker::WorkOn(Working& work) {
  while (!work.done && IsWanted(work.lane)) WINNOW_RETURN_IF_ERROR(Step(work));
  return OkStatus();
}

Status RunWorker::Step(Working& work) {
  Classifier& classifier = *work.lane.classifier;
  WINNOW_ASSIGN_OR_RETURN(std::vector<Comment> comments,
                          parts_.leases.ReadPending(In(kStepTime), work.lease, work.after,
                                                    static_cast<int>(classifier.batch_size())));
  if (comments.empty()) {
    if (work.after == 0) return Internal("the run has no pending comments, but is not complete");
    work.after = 0;  // once more from the beginning
    return OkStatus();
  }
  work.after = comments.back().number;
  WINNOW_RETURN_IF_ERROR(TakeFromCache(work, comments));
  if (comments.empty()) return OkStatus();
  Sink sink(*this, work, comments);
  WINNOW_ASSIGN_OR_RETURN(const Failure pause, classifier.Judge({work.decider, comments, sink}));
  if (pause == Failure::kNone || work.done) return OkStatus();
  return Pause(work, pause);
}

Status RunWorker::Deliver(Working& work, std::span<const Comment> comments,
                          const Delivery& delivery) {
  std::vector<CommentOutcome> outcomes;
  outcomes.reserve(delivery.outcomes.size());
  for (const auto& [index, outcome] : delivery.outcomes) {
    outcomes.push_back({comments[index].number, comments[index].content_hash, outcome});
  }
  WINNOW_RETURN_IF_ERROR(Write(work, outcomes,
                               {delivery.reservation, delivery.calls, delivery.cost_micros},
                               work.cache_name));
  for (const CommentOutcome& one : outcomes) parts_.metrics.Count(one.outcome);
  parts_.metrics.CountCost(delivery.calls, delivery.cost_micros);
  return OkStatus();
}

// What was paid for is not given up at the first trouble of the store; writing again changes
// nothing that is written.
Status RunWorker::Write(Working& work, std::span<const CommentOutcome> outcomes,
                        const Settlement& cost, const std::string& cache_name) {
  for (int tries = 1;; ++tries) {
    const auto written =
        parts_.leases.WriteOutcomes(In(kStepTime), work.lease, outcomes, cost, cache_name);
    if (written.ok()) {
      if (written->complete && !work.done.exchange(true))
        parts_.metrics.RunEnded(RunState::kComplete);
      return OkStatus();
    }
    const bool passes = written.status().code() == StatusCode::kUnavailable ||
                        written.status().code() == StatusCode::kAborted;
    // A late answer of the commit before may have completed the run.
    if (work.done) return OkStatus();
    if (!passes || tries == kTries || cost.reservation == 0) return written.status();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop_.get_token(), kBetweenTries * tries, [] { return false; });
  }
}

Status RunWorker::Pause(Working& work, Failure reason) {
  WINNOW_RETURN_IF_ERROR(parts_.leases.PauseRun(In(kStepTime), work.lease, reason));
  parts_.metrics.RunEnded(RunState::kPaused);
  log::Warn("classification: a run is paused",
            {{"run", work.lease.run.id}, {"reason", NameOf(reason)}});
  work.done = true;
  return OkStatus();
}

Status RunWorker::TakeFromCache(Working& work, std::vector<Comment>& comments) {
  if (work.cache_name.empty()) return OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<CommentOutcome> outcomes,
                          parts_.leases.ReadCache(In(kStepTime), work.cache_name, comments));
  parts_.metrics.CountCache(outcomes.size(), comments.size() - outcomes.size());
  if (outcomes.empty()) return OkStatus();
  WINNOW_RETURN_IF_ERROR(Write(work, outcomes, {}, ""));
  for (const CommentOutcome& one : outcomes) parts_.metrics.Count(one.outcome);
  std::set<int64_t> taken;
  for (const CommentOutcome& one : outcomes) taken.insert(one.comment);
  std::erase_if(comments, [&](const Comment& one) { return taken.contains(one.number); });
  return OkStatus();
}

void RunWorker::SetLease(ClassifierLane& lane, const Lease* lease) {
  const std::lock_guard lock(mutex_);
  lane.held = lease == nullptr ? std::nullopt : std::optional<Lease>(*lease);
  lane.lost = false;
}

bool RunWorker::IsWanted(const ClassifierLane& lane) const {
  const std::lock_guard lock(mutex_);
  return !stopping() && !lane.lost;
}

void RunWorker::BeatLoop() {
  for (;;) {
    std::vector<std::pair<ClassifierLane*, Lease>> held;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop_.get_token(), kBeat, [] { return false; });
      if (stopping()) return;
      for (const auto& lane : lanes_) {
        if (lane->held) held.emplace_back(lane.get(), *lane->held);
      }
    }
    for (const auto& [lane, lease] : held) {
      const Status extended = parts_.leases.ExtendLease(In(kBeat), lease);
      // While the store is unavailable, writing outcomes reports it.
      if (extended.code() != StatusCode::kFailedPrecondition) continue;
      const std::lock_guard lock(mutex_);
      const bool same = lane->held && lane->held->run.id == lease.run.id;
      if (same && lane->held->epoch == lease.epoch) lane->lost = true;
    }
  }
}

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
