#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/dedup/decide/decision_batch.h"
#include "services/dedup/decide/decision_job.h"
#include "services/dedup/decide/decision_parts.h"
#include "services/dedup/judge/namespace_window.h"
#include "services/platform/base/clock.h"

namespace winnow::dedup {

// How far the load of a window is. Written by the thread that loads, read by any.
class LoadProgress {
 public:
  void Begin() { Set(0, 0, std::chrono::steady_clock::now()); }
  void Expect(int64_t entries) { expected_ = entries; }
  void Advance(int64_t entries) {
    entries_ += entries;
    advanced_ = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void End() { Set(0, 0, Deadline()); }

  int64_t entries() const { return entries_; }    // read so far
  int64_t expected() const { return expected_; }  // to read in all; 0: not known yet
  Deadline begun() const { return At(begun_); }
  // When entries were last read, or the load began.
  Deadline advanced() const { return At(advanced_); }

  // An estimate of the time left at the rate so far; none while there is no rate yet.
  std::optional<std::chrono::milliseconds> Remaining(Deadline now) const {
    using std::chrono::milliseconds;
    const int64_t entries = entries_;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - begun());
    if (entries == 0 || elapsed < kMinElapsed) return std::nullopt;
    const int64_t left = expected_ > entries ? expected_ - entries : 0;
    return milliseconds(
        static_cast<int64_t>(static_cast<double>(elapsed.count()) * static_cast<double>(left) /
                             static_cast<double>(entries)));
  }

 private:
  // Before, connecting and the first page are most of it.
  static constexpr std::chrono::milliseconds kMinElapsed{250};
  using Ticks = std::atomic<Deadline::rep>;

  static Deadline At(const Ticks& ticks) { return Deadline(Deadline::duration(ticks.load())); }
  void Set(int64_t entries, int64_t expected, Deadline now) {
    entries_ = entries;
    expected_ = expected;
    begun_ = advanced_ = now.time_since_epoch().count();
  }

  std::atomic<int64_t> entries_{0};
  std::atomic<int64_t> expected_{0};
  Ticks begun_{0};
  Ticks advanced_{0};
};

// Decides the documents of one namespace: holds its window in memory and keeps it in step with the
// namespace's log. Used by one thread at a time.
class NamespaceDecider {
 public:
  NamespaceDecider(std::string ns, const DecisionParts& parts);
  ~NamespaceDecider();
  NamespaceDecider(const NamespaceDecider&) = delete;
  NamespaceDecider& operator=(const NamespaceDecider&) = delete;

  // Answers jobs, at most batch_limit() of them. Those that it leaves unanswered are to be given
  // again, in this order: once the window is loaded where it is not; otherwise after the other
  // namespaces, as they took too long for one transaction.
  void Process(std::vector<DecisionJob>& jobs);

  // Whether the window is there. Not before Load, nor when the log has another history, the rules
  // ask for more of it, or so much was appended by others that reading it takes a while.
  bool is_loaded() const { return window_.has_value() && !is_far_behind_; }
  // Brings the window to the head of the log. After an error the next try goes on from there.
  Status Load();
  // Of the Load that runs. Any thread.
  const LoadProgress& progress() const { return progress_; }

  // How many documents a transaction should have to hold the lock about LockTime() at most; fewer
  // than kMinBatch where that took too long.
  size_t batch_limit() const { return batch_limit_; }
  // Whether other instances write to the namespace, as far as was seen of late.
  bool has_other_writers() const;

 private:
  // What has to be done outside of the lock before a transaction can go on.
  enum class Need { kNothing, kCatchUp, kReload };
  using Jobs = std::vector<DecisionJob*>;

  void Decide(const Jobs& jobs);
  void HalveOrGiveUp(const Jobs& jobs, const Status& status);
  Status DecideOnce(const Jobs& jobs, Deadline deadline, Need& need, bool& is_too_slow);
  void DecideAndCheck(std::vector<DecisionJob>& jobs);
  void Check(const Jobs& jobs);
  StatusOr<std::vector<Decision>> CheckOnce(pg::Session& session, const Jobs& jobs, Need& need);
  Decision JudgeAlone(const DecisionJob& job, Judgement& judged);
  Need FollowLog(pg::Session& session, const pg::Head& head, const Policy& policy);
  Status Open(Deadline deadline);
  StatusOr<int64_t> HeadToLoad(Deadline deadline);
  Status LoadUpTo(int64_t head);
  Status CatchUp(Deadline deadline);
  StatusOr<bool> ReadPage(Deadline deadline);
  void KeepWithinMemory();
  void CountShortened(int64_t documents) const;
  std::chrono::milliseconds LockTime() const;
  void Adapt(size_t documents, std::chrono::steady_clock::duration elapsed);

  const std::string ns_;
  const DecisionParts& parts_;
  std::optional<NamespaceWindow> window_;
  std::string epoch_;           // of the history that the window was read from
  bool is_current_ = false;     // false: there may be more to read than a transaction should
  bool is_far_behind_ = false;  // there is more to read than a call should wait for
  LoadProgress progress_;
  size_t batch_limit_ = 250;
  Deadline last_foreign_{};        // when another instance's entries were last met
  int64_t counted_documents_ = 0;  // what of the shared budget is this window's
};

}  // namespace winnow::dedup
