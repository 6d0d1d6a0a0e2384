#include "services/polling/jobs/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow::polling {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kStart = std::chrono::sys_days(std::chrono::year(2026) / 1 / 30);

Policy SttPolicy() {
  Policy policy;
  policy.states = {"processing", "summarizing"};
  policy.transitions = {{"processing", "summarizing"}};
  return policy;
}

class MachineTest : public testing::Test {
 protected:
  Rules rules() const { return {policy_, clock_}; }

  void SetUp() override {
    auto made = Register({"stt", "123"}, "processing", "audio", {}, "", rules(), now_);
    ASSERT_TRUE(made.ok()) << made.status();
    job_ = made->job;
  }

  // Applies and keeps; the status of what was refused.
  Status Do(const Command& command, const std::string& request = "") {
    auto outcome = Apply(job_, command, request, rules(), now_);
    if (!outcome.ok()) return outcome.status();
    job_ = outcome->job;
    events_ = outcome->events;
    return OkStatus();
  }
  void Claim() {
    ASSERT_TRUE(Do(command::Claim{job_.token + 1, "w1"}).ok());
    ASSERT_EQ(job_.phase, Phase::kLeased);
  }
  void FailOnce() {
    Claim();
    ASSERT_TRUE(Do(command::Fail{job_.token, false, "503", Micros(0)}).ok());
    now_ = std::max(now_, job_.ready_time);
  }

  Policy policy_ = SttPolicy();
  KindClock clock_;
  Time now_ = kStart;
  Job job_;
  std::vector<JobEvent> events_;
};

TEST_F(MachineTest, AJobThatIsNotDueIsNotClaimed) {
  auto later = Register({"stt", "124"}, "processing", "", Micros(seconds(5)), "", rules(), now_);
  ASSERT_TRUE(later.ok());
  job_ = later->job;
  ASSERT_TRUE(Do(command::Claim{1, "w1"}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  now_ += seconds(5);
  Claim();
  EXPECT_EQ(job_.ready_time, now_ + policy_.lease);
}

TEST_F(MachineTest, AnImportedJobGoesOnWithTheAgeThatItHas) {
  const ImportNote note{"ann", "from the old registry", "monday"};
  const auto import = [&](Time state_time, const std::string& state = "summarizing") {
    return Import("stt", {"9", state, state_time, "audio"}, note, rules(), now_);
  };
  clock_ = {.pause_time = {}, .paused = minutes(7)};
  auto imported = import(now_ - minutes(50));
  ASSERT_TRUE(imported.ok()) << imported.status();
  job_ = imported->job;
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  EXPECT_EQ(job_.token, 0);
  EXPECT_EQ(job_.state_time, now_ - minutes(50));
  EXPECT_EQ(job_.ready_time, now_);
  ASSERT_EQ(imported->events.size(), 1u);
  EXPECT_EQ(imported->events[0].change, Change::kRegistered);
  EXPECT_EQ(imported->events[0].actor, "ann");
  // Its lease and its progress begin with the claim, its deadline began with the state.
  Claim();
  now_ += minutes(9);
  ASSERT_TRUE(Do(command::Heartbeat{job_.token}).ok());
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kLeased);
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kBuried);
  EXPECT_EQ(job_.reason, StaleReason::kDeadline);

  EXPECT_EQ(import(now_ + minutes(1))->job.state_time, now_) << "clocks differ a little";
  for (const Time bad : {now_ + minutes(2), now_ - kMaxImportAge - minutes(1)}) {
    EXPECT_EQ(ViolationsOf(import(bad).status()).at(0).field, "state_time");
  }
  EXPECT_EQ(ViolationsOf(import(now_, "nowhere").status()).at(0).field, "state");
}

TEST_F(MachineTest, AJobThatIsImportedWhileItsKindIsPausedKeepsItsAge) {
  clock_ = Pause(clock_, now_ - minutes(30));
  const auto imported =
      Import("stt", {"9", "processing", now_ - minutes(59), ""}, {}, rules(), now_);
  ASSERT_TRUE(imported.ok()) << imported.status();
  job_ = imported->job;
  now_ += minutes(20);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting) << "the clock stands still";
  clock_ = Resume(clock_, now_);
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.reason, StaleReason::kDeadline);
}

TEST_F(MachineTest, EveryWorkersVerbNeedsTheToken) {
  Claim();
  const int64_t stale = job_.token;
  now_ += seconds(30);
  Claim();
  for (const Command& command : std::initializer_list<Command>{
           command::Heartbeat{stale}, command::Progress{stale, 1, ""},
           command::Reschedule{stale, {}}, command::Transition{stale, "summarizing", {}},
           command::Complete{stale, ""}, command::Fail{stale, true, "", Micros(0)},
           command::Release{stale}, command::Cancel{stale, ""}}) {
    EXPECT_EQ(Do(command).code(), StatusCode::kFailedPrecondition) << command.index();
    EXPECT_TRUE(IsFenced(job_, command));
  }
}

TEST_F(MachineTest, ALateHeartbeatKeepsAJobThatNobodyTook) {
  Claim();
  now_ += minutes(2);
  ASSERT_TRUE(Do(command::Heartbeat{job_.token}).ok());
  EXPECT_EQ(job_.ready_time, now_ + policy_.lease);
}

TEST_F(MachineTest, AnExpiredLeaseIsClaimedAsItIsAndTold) {
  Claim();
  now_ += seconds(30);
  Claim();
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].change, Change::kReturned);
  EXPECT_EQ(events_[0].reason, StaleReason::kLeaseLost);
  EXPECT_EQ(events_[0].owner, "w1");
  EXPECT_EQ(job_.losses, 1);
}

TEST_F(MachineTest, AJobThatKillsItsWorkersIsPoison) {
  for (int i = 0; i < policy_.max_losses; ++i) {
    ASSERT_TRUE(Do(command::Claim{job_.token + 1, "w"}).ok());
    now_ += seconds(30);
  }
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kBuried);
  EXPECT_EQ(job_.reason, StaleReason::kPoison);
  ASSERT_TRUE(Do(command::Requeue{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  EXPECT_EQ(job_.losses, 0);
}

TEST_F(MachineTest, AgeIsNotStaleness) {
  policy_.deadline = minutes(600);
  Claim();
  for (int i = 0; i < 200; ++i) {
    now_ += seconds(20);
    ASSERT_TRUE(Do(command::Progress{job_.token, i / 2, "working"}).ok());
    ASSERT_TRUE(Do(command::Sweep{}).ok());
    ASSERT_EQ(job_.phase, Phase::kLeased) << i;
  }
}

TEST_F(MachineTest, HeartbeatsWithoutProgressAreNotEnough) {
  Claim();
  for (int i = 0; i < 30; ++i) {
    now_ += seconds(20);
    ASSERT_TRUE(Do(command::Heartbeat{job_.token}).ok());
  }
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  EXPECT_EQ(events_.at(0).reason, StaleReason::kNoProgress);
}

TEST_F(MachineTest, TheDeadlineIsCountedInOneState) {
  now_ += minutes(59);
  Claim();
  ASSERT_TRUE(Do(command::Transition{job_.token, "summarizing", Micros(0)}).ok());
  EXPECT_EQ(job_.state_time, now_);
  now_ += minutes(59);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.reason, StaleReason::kDeadline);
}

TEST_F(MachineTest, APauseStopsTwoClocksAndNotTheLease) {
  Claim();
  clock_ = Pause(clock_, now_);
  now_ += minutes(600);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  EXPECT_EQ(events_.at(0).reason, StaleReason::kLeaseLost);
  ASSERT_TRUE(Do(command::Claim{job_.token + 1, "w2"}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting) << "nothing of a paused kind is claimed";
  clock_ = Resume(clock_, now_);
  now_ += minutes(59);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kWaiting);
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.reason, StaleReason::kDeadline);
}

TEST_F(MachineTest, TransientFailuresBackOffAndComeToAnEnd) {
  policy_.max_attempts = 5;
  Micros last(0);
  for (int i = 1; i < policy_.max_attempts; ++i) {
    Claim();
    ASSERT_TRUE(Do(command::Fail{job_.token, false, "503", Micros(0)}).ok());
    const Micros delay = job_.ready_time - now_;
    EXPECT_GE(delay, policy_.backoff_base * (1 << (i - 1)) / 2);
    EXPECT_LE(delay, policy_.backoff_base * (1 << (i - 1)));
    EXPECT_EQ(events_.at(0).change, Change::kAttemptFailed);
    last = delay;
    now_ = job_.ready_time;
  }
  EXPECT_GT(last, policy_.backoff_base * 3);
  Claim();
  ASSERT_TRUE(Do(command::Fail{job_.token, false, "503", Micros(0)}).ok());
  EXPECT_EQ(job_.reason, StaleReason::kMaxAttempts);
}

TEST_F(MachineTest, AGoodPollForgivesFailures) {
  FailOnce();
  FailOnce();
  EXPECT_EQ(job_.failures, 2);
  Claim();
  ASSERT_TRUE(Do(command::Reschedule{job_.token, {}}).ok());
  EXPECT_EQ(job_.failures, 0);
}

TEST_F(MachineTest, WhatTheProviderAsksForIsKept) {
  Claim();
  ASSERT_TRUE(Do(command::Fail{job_.token, false, "429", Micros(minutes(30))}).ok());
  EXPECT_EQ(job_.ready_time, now_ + minutes(30));
}

TEST_F(MachineTest, AFatalFailureIsAnEnd) {
  Claim();
  ASSERT_TRUE(Do(command::Fail{job_.token, true, "the file is no audio", Micros(0)}).ok());
  EXPECT_EQ(job_.phase, Phase::kFailed);
  EXPECT_EQ(job_.note, "the file is no audio");
}

TEST_F(MachineTest, OnlyTheKindsTransitionsAreAllowed) {
  Claim();
  EXPECT_EQ(Do(command::Transition{job_.token, "done", {}}).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(Do(command::Transition{job_.token, "summarizing", {}}).ok());
  EXPECT_EQ(job_.phase, Phase::kLeased);
  EXPECT_EQ(Do(command::Transition{job_.token, "processing", {}}).code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(MachineTest, ALeasedJobIsAskedToCancel) {
  Claim();
  ASSERT_TRUE(Do(command::Cancel{}).ok());
  EXPECT_EQ(job_.phase, Phase::kLeased);
  EXPECT_TRUE(job_.cancel_requested);
  ASSERT_TRUE(Do(command::Reschedule{job_.token, {}}).ok());
  EXPECT_EQ(job_.phase, Phase::kCancelled);
}

TEST_F(MachineTest, ALostJobWhoseCancellationWasAskedForEnds) {
  Claim();
  ASSERT_TRUE(Do(command::Cancel{}).ok());
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Sweep{}).ok());
  EXPECT_EQ(job_.phase, Phase::kCancelled);
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(MachineTest, NothingComesBackIntoAStateThatIsNoMore) {
  ASSERT_TRUE(Do(command::Bury{"odd"}).ok());
  policy_.states = {"summarizing"};
  const Status refused = Do(command::Requeue{"again"});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), testing::HasSubstr("no longer has the state processing"));
  policy_.states = {"summarizing", "processing"};
  EXPECT_TRUE(Do(command::Requeue{"again"}).ok());
}

TEST_F(MachineTest, ARepeatedRequestDoesNothing) {
  Claim();
  ASSERT_TRUE(Do(command::Complete{job_.token, "text"}, "r1").ok());
  const Job done = job_;
  now_ += minutes(1);
  ASSERT_TRUE(Do(command::Complete{job_.token, "text"}, "r1").ok());
  EXPECT_EQ(job_, done);
  EXPECT_TRUE(events_.empty());
  EXPECT_FALSE(Do(command::Complete{job_.token, "text"}, "r2").ok());
}

TEST_F(MachineTest, AClockThatIsSetBackShortensNothing) {
  Claim();
  const Time end = job_.ready_time;
  now_ -= minutes(5);
  ASSERT_TRUE(Do(command::Heartbeat{job_.token}).ok());
  EXPECT_EQ(job_.ready_time, end);
}

TEST(Policy, SaysAllThatIsWrong) {
  Policy policy;
  policy.states = {"a", "a", "B"};
  policy.transitions = {{"a", "c"}, {"a", "a"}};
  policy.lease = milliseconds(1);
  policy.max_attempts = 0;
  policy.view_prefix = "a b";
  Violations violations;
  Validate(policy, "policy.", violations);
  EXPECT_EQ(violations.size(), 7u);
  EXPECT_EQ(violations.all()[0].field, "policy.states[1]");
}

TEST(Policy, BackoffIsSpreadOverJobs) {
  const Policy policy = SttPolicy();
  std::vector<Micros> delays;
  for (int i = 0; i < 50; ++i) delays.push_back(Backoff(policy, "job" + std::to_string(i), 3));
  std::sort(delays.begin(), delays.end());
  EXPECT_GT(delays.back() - delays.front(), policy.backoff_base);
  EXPECT_EQ(Backoff(policy, "job1", 10'000), Backoff(policy, "job1", 10'000));
  EXPECT_LE(Backoff(policy, "job1", 10'000), policy.backoff_max);
}

}  // namespace
}  // namespace winnow::polling
