// How the worker's windows are loaded: at the start, when a namespace is first asked for, and again
// when what a decider holds is not the log's any more. Meanwhile calls of the namespace wait for as
// long as their deadlines allow, and those whose deadlines are too short are refused at once.
#include <algorithm>
#include <chrono>
#include <functional>

#include "services/dedup/decide/decision_worker.h"
#include "services/dedup/log/log_store.h"
#include "services/platform/process/log.h"

namespace winnow::dedup {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kListTime(5);
constexpr std::chrono::seconds kListPause(1);  // between tries
constexpr std::chrono::minutes kStartLimit(2);
// Failures in a row, not for the store's absence, after which readiness stops waiting.
constexpr int kFailuresGivenUp = 3;
constexpr milliseconds kWatchPause(50);
constexpr std::chrono::seconds kLogPause(5);
// An answer has to be with its caller before the deadline.
constexpr milliseconds kAnswerTime(100);
// A load that read nothing for so long waits for the store.
constexpr std::chrono::seconds kStalledAfter(2);
constexpr milliseconds kMinRetry(250);
constexpr milliseconds kUsualRetry(1'000);  // while nothing can be estimated
constexpr milliseconds kMaxRetry(60'000);

double SecondsOf(steady_clock::duration time) { return duration<double>(time).count(); }

bool IsStoreAway(const Status& status) {
  return ReasonOf(status) == Reason::kStoreUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted;
}

std::string Progress(int64_t entries, int64_t expected) {
  return std::to_string(entries) + " of " +
         (expected == 0 ? std::string("?") : std::to_string(expected)) + " entries";
}

// A call whose deadline comes before its window is loaded.
Status WindowLoading(const LoadProgress& progress, std::optional<milliseconds> remaining) {
  return Unavailable(Reason::kWindowLoading,
                     "the window of the namespace is being loaded (" +
                         Progress(progress.entries(), progress.expected()) + ")",
                     std::clamp(remaining.value_or(kUsualRetry), kMinRetry, kMaxRetry));
}

}  // namespace

void DecisionWorker::AddLoadGauges(Metrics& metrics) {
  const auto add = [&](const char* name, const char* help, const Labels& labels, auto value) {
    gauges_.push_back(metrics.AddGauge(name, help, labels, [this, value] {
      const std::lock_guard lock(mutex_);
      return static_cast<double>(value(CountWindows(false)));
    }));
  };
  constexpr const char* kWindows = "winnow_dedup_windows";
  constexpr const char* kWindowsHelp = "Windows of namespaces in memory, by state.";
  add(kWindows, kWindowsHelp, {{"state", "loading"}}, [](const auto& of) { return of.loading; });
  add(kWindows, kWindowsHelp, {{"state", "loaded"}}, [](const auto& of) { return of.loaded; });
  add(kWindows, kWindowsHelp, {{"state", "failed"}}, [](const auto& of) { return of.failed; });
  add("winnow_dedup_loading_entries", "Entries read by the loads of windows that are running.", {},
      [](const auto& of) { return of.entries; });
  add("winnow_dedup_loading_entries_expected",
      "Entries that the loads of windows that are running read in all.", {},
      [](const auto& of) { return of.expected; });
}

// With the lock held.
DecisionWorker::WindowState DecisionWorker::StateOf(const Lane& lane) {
  if (!lane.load_error.ok()) return WindowState::kFailed;  // until a load has succeeded
  if (lane.stage == Lanes::Stage::kLoading) return WindowState::kLoading;
  // A thread that decides owns the decider, which was loaded before.
  if (lane.stage == Lanes::Stage::kDeciding) return WindowState::kLoaded;
  return lane.decider->is_loaded() ? WindowState::kLoaded : WindowState::kLoading;
}

// With the lock held.
DecisionWorker::WindowCounts DecisionWorker::CountWindows(bool only_of_start) const {
  WindowCounts counts;
  for (const auto& [ns, lane] : lanes_.lanes()) {
    if (only_of_start && !lane->is_of_start) continue;
    switch (StateOf(*lane)) {
      case WindowState::kLoading:
        ++counts.loading;
        break;
      case WindowState::kLoaded:
        ++counts.loaded;
        break;
      case WindowState::kFailed:
        ++counts.failed;
        if (counts.first_error.empty()) {
          counts.first_error = "namespace " + ns + ": " + Message(lane->load_error);
        }
        break;
    }
    if (lane->stage != Lanes::Stage::kLoading) continue;
    counts.entries += lane->decider->progress().entries();
    counts.expected += lane->decider->progress().expected();
  }
  return counts;
}

void DecisionWorker::RunLoads() {
  Lock lock(mutex_);
  while (load_changed_.wait(lock, stop_.get_token(), [this] { return lanes_.has_load(); }) &&
         !stop_.stop_requested()) {
    Lane& lane = lanes_.BeginLoad();
    const Deadline begun = steady_clock::now();
    lock.unlock();
    const Status loaded = lane.decider->Load();
    parts_.metrics.load_seconds.Observe(SecondsOf(steady_clock::now() - begun));
    lock.lock();
    if (stop_.stop_requested()) return;
    EndLoad(lane, loaded, lock);
  }
}

void DecisionWorker::EndLoad(Lane& lane, const Status& loaded, Lock& lock) {
  Lanes::Refused refused = lanes_.EndLoad(lane, loaded, steady_clock::now());
  if (loaded.ok()) {
    Schedule(lane);
    changed_.notify_one();
  } else {
    log::Warn(
        "dedup window not loaded; it is tried again",
        {{"namespace", lane.ns}, {"failures", lane.failed_loads}, {"error", Message(loaded)}});
  }
  JudgeStart(steady_clock::now());
  lock.unlock();
  AnswerAll(std::move(refused));
  lock.lock();
}

// A step of the thread that looks after loads: the time to the next one.
milliseconds DecisionWorker::WatchLoads() {
  // Written by this thread alone.
  if (!listed_.ok() && steady_clock::now() >= list_again_) ListNamespaces();
  const Deadline now = steady_clock::now();
  AnswerAll(TakeLate(now));
  const std::lock_guard lock(mutex_);
  lanes_.RetryLoads(now);
  if (lanes_.has_load()) load_changed_.notify_all();
  LogProgress(now);
  JudgeStart(now);
  return kWatchPause;
}

void DecisionWorker::ListNamespaces() {
  const auto read = [max = static_cast<int>(lanes_.limits().lanes)](
                        pg::Session& session) -> StatusOr<std::vector<std::string>> {
    return ReadNamespaces(session, max);
  };
  const auto namespaces = parts_.reads.Statements(steady_clock::now() + kListTime, read);
  const std::lock_guard lock(mutex_);
  listed_ = namespaces.status();
  list_again_ = steady_clock::now() + kListPause;
  if (!namespaces.ok() || stop_.stop_requested()) return;
  for (const std::string& ns : *namespaces) {
    Lane* lane = OpenLane(ns);
    if (lane == nullptr) break;
    lane->is_of_start = lane->wants_load = true;
    Schedule(*lane);
  }
  load_changed_.notify_all();
}

// Jobs of windows that will not be loaded before the jobs have to be answered. A document to be
// remembered goes on undecided where the store does not answer.
DecisionWorker::Lanes::Refused DecisionWorker::TakeLate(Deadline now) {
  const std::lock_guard lock(mutex_);
  return lanes_.TakeIf([&](const Lane& lane, const DecisionJob& job) -> Status {
    const LoadProgress& progress = lane.decider->progress();
    const bool is_loading = lane.stage == Lanes::Stage::kLoading;
    const auto remaining = is_loading ? progress.Remaining(now) : std::nullopt;
    const bool is_stalled = is_loading && now - progress.advanced() > kStalledAfter;
    if (is_stalled && job.is_urgent && job.is_remembered) {
      return Unavailable(Reason::kStoreUnavailable,
                         "the store does not answer while the window is loaded", kUsualRetry);
    }
    // Items come again as often as events do: they wait for as long as they can.
    const auto needed = job.is_item ? milliseconds(0) : remaining.value_or(milliseconds(0));
    if (job.deadline - now >= needed + kAnswerTime) return OkStatus();
    return WindowLoading(progress, remaining);
  });
}

// With the lock held.
void DecisionWorker::LogProgress(Deadline now) {
  if (now - logged_ < kLogPause) return;
  logged_ = now;
  for (const auto& [ns, lane] : lanes_.lanes()) {
    if (lane->stage != Lanes::Stage::kLoading) continue;
    const LoadProgress& progress = lane->decider->progress();
    const auto remaining = progress.Remaining(now);
    log::Info("dedup window loading", {{"namespace", ns},
                                       {"entries", progress.entries()},
                                       {"of", progress.expected()},
                                       {"seconds", SecondsOf(now - progress.begun())},
                                       {"seconds_left", remaining ? SecondsOf(*remaining) : -1.0}});
  }
}

// With the lock held. Once ready, the service stays ready: a later load affects only calls of its
// namespace, because every instance would begin one at the same time.
void DecisionWorker::JudgeStart(Deadline now) {
  if (is_ready_ || stop_.stop_requested()) return;
  const WindowCounts counts = CountWindows(true);
  const bool is_over = now - started_ >= kStartLimit;
  if (!is_over) {
    if (!listed_.ok() || counts.loading > 0) return;
    for (const auto& [ns, lane] : lanes_.lanes()) {
      if (!lane->is_of_start || lane->load_error.ok()) continue;
      if (lane->failed_loads < kFailuresGivenUp || IsStoreAway(lane->load_error)) return;
    }
  }
  is_ready_ = true;
  const bool is_whole = listed_.ok() && counts.loading + counts.failed == 0;
  log::Write(is_whole ? log::Level::kInfo : log::Level::kWarn,
             is_whole ? "dedup windows loaded" : "dedup is ready without all of its windows",
             {{"windows", counts.loaded},
              {"windows_loading", counts.loading},
              {"windows_failed", counts.failed},
              {"documents", parts_.memory.documents.load()},
              {"seconds", SecondsOf(now - started_)},
              {"error", listed_.ok() ? counts.first_error : Message(listed_)}});
}

Status DecisionWorker::CheckStart() const {
  const std::lock_guard lock(mutex_);
  if (is_ready_) return OkStatus();
  if (!listed_.ok()) return listed_;
  const WindowCounts counts = CountWindows(true);
  return Unavailable(Reason::kWindowLoading,
                     "windows are being loaded: " + std::to_string(counts.loaded) + " of " +
                         std::to_string(counts.loaded + counts.loading + counts.failed) +
                         " done; of those being read " + Progress(counts.entries, counts.expected) +
                         (counts.first_error.empty() ? "" : "; " + counts.first_error),
                     kUsualRetry);
}

Status DecisionWorker::CheckEveryWindow() const {
  const std::lock_guard lock(mutex_);
  const WindowCounts counts = CountWindows(false);
  if (counts.loading + counts.failed == 0) return OkStatus();
  return Unavailable(Reason::kWindowLoading,
                     std::to_string(counts.loading) + " windows are being loaded (" +
                         Progress(counts.entries, counts.expected) + "), " +
                         std::to_string(counts.failed) + " cannot be loaded" +
                         (counts.first_error.empty() ? "" : ": " + counts.first_error),
                     kUsualRetry);
}

}  // namespace winnow::dedup
