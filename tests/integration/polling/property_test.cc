#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/integration/polling/fixture.h"
#include "tests/integration/polling/killer.h"

// The set-based statements against the pure machine: whatever comes, rows and history are the same.
namespace winnow::polling {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kFirstSeed = 20260130;
constexpr int kSeeds = 4;

// What came up in the seeds of this run together.
struct Seen {
  std::set<Change> changes;
  std::set<StaleReason> reasons;
  int seeds = 0;
};
Seen& SeenByAll() {
  static Seen seen;
  return seen;
}

// From the environment (tests/README.md).
int StepsToRun(const char* name, int by_default) {
  const char* text = std::getenv(name);
  return text == nullptr ? by_default : static_cast<int>(std::strtol(text, nullptr, 10));
}

class PollingPropertyTest : public PollingTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    PollingTest::SetUp();
    Sql("UPDATE polling.policies SET max_attempts = 3");
    policy_.states = {"processing", "summarizing"};
    policy_.transitions = {{"processing", "summarizing"}};
    policy_.max_attempts = 3;
    policy_.view_prefix = "stt:polling:";
  }

  Rules rules() const { return {policy_, clock_}; }
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  std::string AnyId() { return "j" + std::to_string(Below(9)); }

  void Keep(const Outcome& outcome) {
    model_[outcome.job.key.id] = outcome.job;
    auto& events = expected_[outcome.job.key.id];
    for (const JobEvent& event : outcome.events) {
      events.push_back(event);
      changes_.insert(event.change);
      reasons_.insert(event.reason);
    }
  }

  void RegisterSome() {
    std::vector<NewJob> jobs;
    for (int i = Below(3); i >= 0; --i) {
      const std::string id = AnyId();
      if (std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) { return job.id == id; })) {
        continue;
      }
      jobs.push_back({id, Below(2) == 0 ? "" : policy_.states[static_cast<size_t>(Below(2))],
                      "payload", seconds(Below(40))});
    }
    const std::string request = "r" + std::to_string(++requests_);
    const auto made = store_.Register(Soon(), "stt", jobs, request);
    ASSERT_TRUE(made.ok()) << made.status();
    for (size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_TRUE((*made)[i].ok()) << (*made)[i].status();
      ASSERT_EQ(*(*made)[i], !model_.contains(jobs[i].id));
      if (!*(*made)[i]) continue;
      const std::string state = jobs[i].state.empty() ? policy_.states[0] : jobs[i].state;
      auto outcome = polling::Register({"stt", jobs[i].id}, state, jobs[i].payload, jobs[i].delay,
                                       request, rules(), now_);
      ASSERT_TRUE(outcome.ok());
      Keep(*outcome);
    }
  }

  void ImportSome() {
    const ImportNote note{"ann", "moved in", "i" + std::to_string(++requests_)};
    std::vector<JobToImport> jobs;
    for (const char* id : {"j1", "j4", "i1", "i2", "i3"}) {
      const std::string state = Below(5) == 0 ? "nowhere" : policy_.states[Below(2) == 0 ? 0 : 1];
      if (Below(2) == 0) jobs.push_back({id, state, now_ - seconds(Below(9'000) - 90), "payload"});
    }
    const bool dry_run = Below(4) == 0;
    const auto imported = store_.Import(Soon(), "stt", jobs, note, dry_run);
    ASSERT_TRUE(imported.ok()) << imported.status();
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto outcome = polling::Import("stt", jobs[i], note, rules(), now_);
      ASSERT_EQ((*imported)[i].ok(), outcome.ok()) << jobs[i].id;
      if (!outcome.ok()) continue;
      const bool is_new = !model_.contains(jobs[i].id);
      const Job job = is_new ? outcome->job : model_[jobs[i].id];
      ASSERT_EQ(*(*imported)[i], (ImportResult{is_new, job.state, job.phase}));
      if (is_new && !dry_run) Keep(*outcome);
    }
  }

  void ClaimSome() {
    std::vector<Job> due;
    for (const auto& [id, job] : model_) {
      if (IsInFlight(job.phase) && job.ready_time <= now_ && !clock_.is_paused()) {
        due.push_back(job);
      }
    }
    std::sort(due.begin(), due.end(), [](const Job& a, const Job& b) {
      return std::tie(a.ready_time, a.key.id) < std::tie(b.ready_time, b.key.id);
    });
    const int limit = 1 + Below(4);
    due.resize(std::min(due.size(), static_cast<size_t>(limit)));
    const std::string owner = "w" + std::to_string(Below(3));
    const auto claimed = store_.Claim(Soon(), {"stt", owner, limit});
    ASSERT_TRUE(claimed.ok()) << claimed.status();
    ASSERT_EQ(claimed->touched, std::ssize(due));
    auto next = claimed->jobs.begin();
    int64_t last = last_token_;
    for (const Job& job : due) {
      const bool given = next != claimed->jobs.end() && next->key == job.key;
      auto outcome =
          Apply(job, command::Claim{given ? next->token : last + 1, owner}, "", rules(), now_);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      ASSERT_EQ(given, outcome->job.phase == Phase::kLeased) << job.key.id;
      Keep(*outcome);
      if (!given) continue;
      ASSERT_GT(next->token, last_token_) << "tokens grow";
      ASSERT_EQ(*next, outcome->job);
      last = std::max(last, next->token);
      ++next;
    }
    last_token_ = last;
    ASSERT_EQ(next, claimed->jobs.end());
  }

  void BeatSome() {
    std::vector<HeldJob> held;
    for (int i = Below(5); i >= 0; --i) {
      const std::string id = AnyId();
      const int64_t token = model_.contains(id) ? model_[id].token - (Below(4) == 0) : 7;
      held.push_back({id, token});
    }
    const auto beats = store_.Heartbeat(Soon(), "stt", held);
    ASSERT_TRUE(beats.ok()) << beats.status();
    std::map<std::string, Job> before = model_;
    for (size_t i = 0; i < held.size(); ++i) {
      const auto job = before.find(held[i].id);
      StatusOr<Outcome> outcome = NotFound("job", held[i].id);
      if (job != before.end()) {
        outcome = Apply(job->second, command::Heartbeat{held[i].token}, "", rules(), now_);
      }
      ASSERT_EQ((*beats)[i].lost, !outcome.ok()) << held[i].id;
      if (!outcome.ok()) continue;
      ASSERT_EQ((*beats)[i].lease_end, outcome->job.ready_time);
      ASSERT_EQ((*beats)[i].cancel_requested, outcome->job.cancel_requested);
      model_[held[i].id] = outcome->job;
    }
  }

  bool IsStale(const Job& job, SweepClock clock) const {
    const Time kind_now = clock_.At(now_);
    switch (clock) {
      case SweepClock::kLease:
        return job.phase == Phase::kLeased && job.ready_time <= now_;
      case SweepClock::kNoProgress:
        return job.phase == Phase::kLeased && job.progressed + policy_.no_progress <= kind_now;
      case SweepClock::kDeadline:
        return IsInFlight(job.phase) && job.entered + policy_.deadline <= kind_now;
    }
    return false;
  }

  void SweepSome() {
    const auto clock = static_cast<SweepClock>(Below(3));
    const int limit = Below(2) == 0 ? 1000 : 1 + Below(2);
    int stale = 0;
    for (const auto& [id, job] : model_) stale += IsStale(job, clock);
    const auto swept = store_.Sweep(Soon(), "stt", clock, limit);
    ASSERT_TRUE(swept.ok()) << swept.status();
    ASSERT_EQ(std::ssize(*swept), std::min(stale, limit));
    for (const StaleJob& one : *swept) {
      ASSERT_TRUE(IsStale(model_.at(one.id), clock)) << one.id;
      auto outcome = Apply(model_.at(one.id), command::Sweep{}, "", rules(), now_);
      ASSERT_TRUE(outcome.ok());
      ASSERT_EQ(outcome->events.at(0).reason, one.reason);
      ASSERT_EQ(outcome->events.at(0).change == Change::kBuried, one.is_buried);
      Keep(*outcome);
    }
  }

  void KickSome() {
    std::vector<Job> buried;
    for (const auto& [id, job] : model_) {
      if (job.phase == Phase::kBuried) buried.push_back(job);
    }
    std::sort(buried.begin(), buried.end(), [](const Job& a, const Job& b) {
      return std::tie(a.ready_time, a.key.id) < std::tie(b.ready_time, b.key.id);
    });
    const int limit = 1 + Below(3);
    buried.resize(std::min(buried.size(), static_cast<size_t>(limit)));
    const auto kicked = store_.Kick(Soon(), "stt", StaleReason::kNone, limit, {"mina", "again"});
    ASSERT_TRUE(kicked.ok()) << kicked.status();
    ASSERT_EQ(kicked->count, std::ssize(buried));
    for (size_t i = 0; i < buried.size(); ++i) {
      ASSERT_EQ(kicked->ids[i], buried[i].key.id);
      const auto outcome = Apply(buried[i], command::Requeue{"again", "mina"}, "", rules(), now_);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      Keep(*outcome);
    }
  }

  Command AnyCommand(int64_t token) {
    const auto delay = Below(2) == 0 ? std::optional<Micros>(seconds(Below(50))) : std::nullopt;
    switch (Below(10)) {
      case 0:
        return command::Progress{token, Below(101), "half"};
      case 1:
        return command::Reschedule{token, delay};
      case 2:
        return command::Transition{token, "summarizing", delay};
      case 3:
        return command::Complete{token, "text"};
      case 4:
      case 5:
        return command::Fail{token, Below(8) == 0, "503", seconds(Below(20))};
      case 6:
        return command::Release{token};
      case 7:
        return command::Cancel{Below(2) == 0 ? std::optional<int64_t>(token) : std::nullopt,
                               "stop"};
      case 8:
        return command::Requeue{"again"};
      default:
        return command::Bury{"enough"};
    }
  }

  void DoOne() {
    const std::string id = AnyId();
    const int64_t token = model_.contains(id) ? model_[id].token - (Below(6) == 0) : 1;
    const auto last = sent_.find(id);
    if (last != sent_.end() && Below(5) == 0)
      return Send(id, last->second.first, last->second.second);
    DoThis(id, AnyCommand(token));
  }

  void DoThis(const std::string& id, const Command& command) {
    Send(id, command, "r" + std::to_string(++requests_));
  }

  void Send(const std::string& id, const Command& command, const std::string& request) {
    sent_.insert_or_assign(id, std::pair(command, request));
    auto done = store_.Do(Soon(), {"stt", id}, command, request);
    // Nobody knows whether it was done: sent again, it is done once.
    while (done.status().code() == StatusCode::kUnavailable) {
      ++unknown_;
      done = store_.Do(Soon(), {"stt", id}, command, request);
    }
    if (!model_.contains(id)) {
      ASSERT_EQ(done.status().code(), StatusCode::kNotFound);
      return;
    }
    const auto outcome = Apply(model_[id], command, request, rules(), now_);
    ASSERT_EQ(done.status().code(), outcome.status().code()) << done.status();
    if (outcome.ok()) Keep(*outcome);
  }

  void TurnTheClock() {
    switch (Below(8)) {
      case 0:
        return SetTime(now_ + minutes(Below(25)));
      case 1:
        return SetTime(now_ - seconds(Below(40)));
      case 2:
        clock_ = clock_.is_paused() ? Resume(clock_, now_) : Pause(clock_, now_);
        return Sql("UPDATE polling.kinds SET paused_us = " + std::to_string(clock_.paused.count()) +
                   ", pause_time = " +
                   (clock_.is_paused() ? "'" + pg::ToParameter(*clock_.pause_time) + "'"
                                       : std::string("NULL")));
      default:
        return SetTime(now_ + seconds(Below(15)));
    }
  }

  // An ended job goes with its history; its id may come again.
  void Forget() {
    const std::string id = AnyId();
    if (!model_.contains(id) || IsInFlight(model_[id].phase)) return;
    for (const JobEvent& event : expected_[id]) {
      forgotten_stale_ += event.reason != StaleReason::kNone;
    }
    model_.erase(id);
    expected_.erase(id);
    Sql("DELETE FROM polling.jobs WHERE id = '" + id + "'");
    Sql("DELETE FROM polling.job_events WHERE id = '" + id + "'");
  }

  // Rows and history, whole.
  void Compare() {
    int64_t total = 0;
    int64_t stale = forgotten_stale_;
    for (const auto& [id, job] : model_) {
      const auto stored = store_.Get(Soon(), job.key);
      ASSERT_TRUE(stored.ok()) << stored.status();
      ASSERT_EQ(*stored, job) << id;
      const auto events = store_.ListEvents(Soon(), job.key, 0, 100'000);
      ASSERT_TRUE(events.ok()) << events.status();
      std::vector<JobEvent> found;
      for (const NumberedEvent& event : *events) found.push_back(event.event);
      ASSERT_EQ(found, expected_[id]) << id;
      for (const JobEvent& event : found) stale += event.reason != StaleReason::kNone;
      total += std::ssize(found);
    }
    ASSERT_EQ(Number("SELECT count(*) FROM polling.jobs"), std::ssize(model_));
    ASSERT_EQ(Number("SELECT count(*) FROM polling.job_events"), total);
    ASSERT_EQ(Number("SELECT count(*) FROM polling.outbox"), stale);
  }

  Policy policy_;
  KindClock clock_;
  std::mt19937_64 random_{kFirstSeed + static_cast<uint64_t>(GetParam())};
  std::map<std::string, Job> model_;
  std::map<std::string, std::vector<JobEvent>> expected_;
  std::set<Change> changes_;
  std::set<StaleReason> reasons_;
  std::map<std::string, std::pair<Command, std::string>> sent_;  // the last one, by job
  int requests_ = 0;
  int unknown_ = 0;  // calls whose answer was lost
  int64_t last_token_ = 0;
  int64_t forgotten_stale_ = 0;
};

TEST_P(PollingPropertyTest, StatementsDoWhatTheMachineDoes) {
  const int steps = StepsToRun("WINNOW_POLLING_STEPS", 900);  // of each seed
  ASSERT_GT(steps, 0) << "WINNOW_POLLING_STEPS must be a number of steps";
  for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const int act = Below(20);
    if (act < 2) {
      RegisterSome();
    } else if (act >= 18) {
      act == 18 ? KickSome() : ImportSome();
    } else if (act >= 16) {
      Forget();
    } else if (act < 6) {
      ClaimSome();
    } else if (act < 8) {
      BeatSome();
    } else if (act < 10) {
      SweepSome();
    } else if (act < 13) {
      DoOne();
    } else {
      TurnTheClock();
    }
    if (!HasFatalFailure() && step % 5 == 0) Compare();
  }
  Seen& all = SeenByAll();
  all.changes.insert(changes_.begin(), changes_.end());
  all.reasons.insert(reasons_.begin(), reasons_.end());
  // Seeds that never got there prove nothing: checked by the last of them, when all were run.
  if (++all.seeds < kSeeds) return;
  EXPECT_GE(all.changes.size(), 9u);
  EXPECT_GE(all.reasons.size(), 4u);
}

class PollingKillTest : public PollingPropertyTest {};

TEST_P(PollingKillTest, WhatWasAnsweredStaysAndWhatWasSentAgainIsDoneOnce) {
  const int steps = StepsToRun("WINNOW_POLLING_KILL_STEPS", 300);
  const int kills = std::max(3, steps / 2000);
  for (int i = 0; i < 30; ++i) RegisterSome();
  Killer killer;
  for (int step = 0; (step < steps || killer.done() < kills) && !HasFatalFailure(); ++step) {
    if (step % std::max(1, steps / kills) == 0) killer.Want(kills);
    // Claims are not repeated: their leases end. Here each is made by the machine's own command.
    const std::string id = AnyId();
    if (model_.contains(id) && model_[id].phase == Phase::kWaiting) {
      DoThis(id, command::Claim{++last_token_ + 1'000'000, "w"});
    }
    DoOne();
  }
  killer.Stop();
  if (HasFatalFailure()) return;
  Compare();
  EXPECT_GT(unknown_, 0) << "no call was cut off";
}

INSTANTIATE_TEST_SUITE_P(Seed, PollingKillTest, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Seeds, PollingPropertyTest, testing::Range(0, kSeeds));

}  // namespace
}  // namespace winnow::polling
