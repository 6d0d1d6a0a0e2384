#include "services/classification/worker.h"

#include <set>

#include "services/platform/log.h"

namespace winnow::classification {
namespace {

constexpr std::chrono::seconds kStepTime(20);
constexpr std::chrono::minutes kSweepTime(5);
constexpr std::chrono::seconds kBeat(10);  // a third of a lease
constexpr int kSweepBatch = 100;

Deadline In(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

}  // namespace

Worker::Worker(Store& store, Policies& policies, VerdictMetrics& metrics, Options options)
    : store_(store), policies_(policies), metrics_(metrics), options_(std::move(options)) {
  for (const auto& [name, classifier] : options_.classifiers) names_.push_back(name);
}

void Worker::Start() {
  threads_.emplace_back([this] { Loop(); });
  threads_.emplace_back([this] { SweepLoop(); });
  threads_.emplace_back([this] { BeatLoop(); });
}

void Worker::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Worker::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Worker::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Worker::WaitFor(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

bool Worker::Pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

void Worker::Loop() {
  while (!stopping()) {
    ActivateComplete();
    if (!WorkOnce() && !WaitFor(options_.poll)) return;
  }
}

bool Worker::WorkOnce() {
  const auto lease = store_.LeaseRun(In(kStepTime), options_.name, names_);
  if (!lease.ok()) {
    log::Warn("classification: no run can be leased", {{"error", lease.status().ToString()}});
    return false;
  }
  if (!*lease) return false;
  Work(**lease);
  return true;
}

void Worker::Work(const Lease& lease) {
  const auto decider =
      policies_.Get(In(kStepTime), lease.run.video.ns, lease.run.policy, lease.run.policy_version);
  Status status = decider.status();
  Classifier& classifier = *options_.classifiers.at(lease.run.classifier);
  int64_t after = 0;
  int64_t spent = lease.run.cost_micros;
  bool done = false;
  SetLease(&lease);
  while (status.ok() && !done && !stopping()) {
    status = Step(lease, classifier, **decider, after, spent, done);
  }
  SetLease(nullptr);
  if (status.ok() && done) return;
  if (!status.ok()) {
    log::Warn("classification: a run is left for another try",
              {{"run", lease.run.id}, {"error", status.ToString()}});
  }
  // Stopping, or the store is away: whoever comes next goes on from the residue.
  const Status released = store_.ReleaseRun(In(kStepTime), lease);
  if (!released.ok()) {
    log::Info("classification: a lease runs out by itself", {{"run", lease.run.id}});
  }
  if (!status.ok()) WaitFor(options_.poll);
}

Status Worker::Step(const Lease& lease, Classifier& classifier, const Decider& decider,
                    int64_t& after, int64_t& spent, bool& done) {
  WINNOW_ASSIGN_OR_RETURN(
      std::vector<Comment> comments,
      store_.ReadResidue(In(kStepTime), lease, after, static_cast<int>(classifier.batch_size())));
  if (classifier.costs() && !comments.empty()) {
    const int64_t last = comments.back().number;
    WINNOW_ASSIGN_OR_RETURN(done, TakeOver(lease, comments));
    if (done) return OkStatus();
    if (comments.empty()) {
      after = last;
      return OkStatus();
    }
  }
  const int64_t left = lease.run.budget_micros == 0 ? -1 : lease.run.budget_micros - spent;
  const Judged judged = classifier.Judge(decider, comments, left, [this] {
    const std::lock_guard lock(mutex_);
    return stopping_ || lost_;
  });
  std::vector<CommentOutcome> outcomes;
  for (size_t i = 0; i < judged.outcomes.size(); ++i) {
    const Outcome& outcome = judged.outcomes[i];
    if (outcome.status == CommentStatus::kNone && outcome.failure == Failure::kNone) continue;
    outcomes.push_back({comments[i].number, comments[i].content_hash, outcome});
  }
  WINNOW_ASSIGN_OR_RETURN(
      const Written written,
      store_.WriteOutcomes(In(kStepTime), lease, outcomes, judged.calls, judged.cost_micros));
  for (const CommentOutcome& one : outcomes) metrics_.Count(one.outcome);
  metrics_.CountCost(judged.calls, judged.cost_micros);
  spent += judged.cost_micros;
  if (!comments.empty()) after = outcomes.size() == comments.size() ? comments.back().number : 0;
  if (written.complete) {
    metrics_.RunEnded(RunState::kComplete);
    done = true;
    return OkStatus();
  }
  if (judged.pause != Failure::kNone) {
    WINNOW_RETURN_IF_ERROR(store_.PauseRun(In(kStepTime), lease, judged.pause));
    metrics_.RunEnded(RunState::kPaused);
    log::Warn("classification: a run is paused",
              {{"run", lease.run.id}, {"reason", NameOf(judged.pause)}});
    done = true;
    return OkStatus();
  }
  if (comments.empty() && after == 0) return Internal("a run without residue is not complete");
  if (comments.empty()) after = 0;  // from the beginning, once
  return OkStatus();
}

StatusOr<bool> Worker::TakeOver(const Lease& lease, std::vector<Comment>& comments) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<CommentOutcome> outcomes,
                          store_.Reusable(In(kStepTime), lease, comments));
  if (outcomes.empty()) return false;
  WINNOW_ASSIGN_OR_RETURN(const Written written,
                          store_.WriteOutcomes(In(kStepTime), lease, outcomes, 0, 0));
  std::set<int64_t> taken;
  for (const CommentOutcome& one : outcomes) taken.insert(one.comment);
  std::erase_if(comments, [&](const Comment& one) { return taken.contains(one.number); });
  if (written.complete) metrics_.RunEnded(RunState::kComplete);
  return written.complete;
}

void Worker::SetLease(const Lease* lease) {
  const std::lock_guard lock(mutex_);
  held_ = lease == nullptr ? std::nullopt : std::optional<Lease>(*lease);
  lost_ = false;
}

void Worker::BeatLoop() {
  for (;;) {
    std::optional<Lease> held;
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kBeat, [this] { return stopping_; })) return;
      held = held_;
    }
    if (!held || store_.ExtendLease(In(kBeat), *held).code() != StatusCode::kFailedPrecondition) {
      continue;  // while the store is away, writing outcomes tells
    }
    const std::lock_guard lock(mutex_);
    if (held_ && held_->run.id == held->run.id && held_->epoch == held->epoch) lost_ = true;
  }
}

void Worker::ActivateComplete() {
  const auto waiting = store_.RunsToActivate(In(kStepTime));
  if (!waiting.ok()) return;  // LeaseRun tells why
  for (const Run& run : *waiting) {
    const auto decider = policies_.Get(In(kStepTime), run.video.ns, run.policy, run.policy_version);
    if (!decider.ok()) continue;
    const auto active =
        store_.ActivateRun(In(kStepTime), run.id, (*decider)->policy().max_failed_share, "winnow");
    if (active.ok()) {
      options_.video_changed(run.video);
      continue;
    }
    log::Warn("classification: a complete run stays aside",
              {{"run", run.id}, {"error", active.status().ToString()}});
    if (active.status().code() != StatusCode::kFailedPrecondition) continue;
    const Status dropped = store_.DropActivation(In(kStepTime), run.id);
    if (!dropped.ok()) log::Warn("classification: it will be tried again", {{"run", run.id}});
  }
}

void Worker::SweepLoop() {
  while (!stopping()) {
    Sweep();
    const Deadline next = In(options_.sweep);
    while (std::chrono::steady_clock::now() < next) {
      std::unique_lock lock(mutex_);
      if (changed_.wait_until(lock, next, [this] { return stopping_; })) return;
    }
  }
}

void Worker::Sweep() {
  const auto expired = store_.ExpiredVideos(In(kStepTime), kSweepBatch);
  if (!expired.ok()) {
    log::Warn("classification: no sweep now", {{"error", expired.status().ToString()}});
    return;
  }
  for (const VideoKey& key : *expired) {
    if (stopping()) return;
    const auto deleted = store_.DeleteVideo(In(kSweepTime), key, "expiry");
    if (!deleted.ok()) {
      log::Warn("classification: an expired video stays", {{"error", deleted.status().ToString()}});
      continue;
    }
    options_.video_deleted(key);
    log::Info("classification: a video expired", {{"comments", *deleted}});
  }
}

}  // namespace winnow::classification
