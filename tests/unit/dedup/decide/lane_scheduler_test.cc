#include "services/dedup/decide/lane_scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace winnow::dedup {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeDecider {
  bool loaded = true;
  size_t limit = 250;
  bool is_loaded() const { return loaded; }
  size_t batch_limit() const { return limit; }
};
using Lanes = LaneScheduler<FakeDecider>;
using Ids = std::vector<std::string>;

constexpr Deadline kNow{seconds(1'000)};

Lanes::NamespaceLane& Open(Lanes& lanes, const std::string& ns, bool loaded = true) {
  return *lanes.Open(ns, [&] { return std::make_unique<FakeDecider>(FakeDecider{loaded}); });
}

DecisionJob Job(const std::string& id, bool is_urgent = false) {
  DecisionJob job;
  job.document.id = id;
  job.is_urgent = is_urgent;
  return job;
}

bool Push(Lanes& lanes, Lanes::NamespaceLane& lane, const std::string& id, bool is_urgent = false) {
  DecisionJob job = Job(id, is_urgent);
  return lanes.Push(lane, job);
}

Ids IdsOf(const std::vector<DecisionJob>& jobs) {
  Ids ids;
  for (const DecisionJob& job : jobs) ids.push_back(job.document.id);
  return ids;
}

TEST(LaneScheduler, UrgentDocumentsGoFirstWithLittleBulk) {
  Lanes lanes({.beside_urgent = 2});
  Lanes::NamespaceLane& lane = Open(lanes, "a");
  for (const char* id : {"b1", "b2", "b3"}) Push(lanes, lane, id);
  Push(lanes, lane, "u1", true);
  EXPECT_FALSE(lanes.Queue(lane));
  ASSERT_TRUE(lanes.has_ready());
  EXPECT_EQ(&lanes.BeginDeciding(), &lane);
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lane)), (Ids{"u1", "b1", "b2"}));
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lane)), (Ids{"b3"}));
  EXPECT_EQ(lanes.waiting(), 0U);
}

TEST(LaneScheduler, ABatchHasAtMostWhatTheDeciderTakes) {
  Lanes lanes;
  Lanes::NamespaceLane& lane = Open(lanes, "a");
  lane.decider->limit = 2;
  for (const char* id : {"1", "2", "3"}) Push(lanes, lane, id);
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lane)), (Ids{"1", "2"}));
}

TEST(LaneScheduler, WhatIsLeftOfABatchGoesFirstInItsOrder) {
  Lanes lanes;
  Lanes::NamespaceLane& lane = Open(lanes, "a");
  for (const char* id : {"1", "2", "3"}) Push(lanes, lane, id);
  lanes.Queue(lane);
  lanes.BeginDeciding();
  lane.decider->limit = 2;
  auto jobs = lanes.TakeJobs(lane);
  lanes.EndDeciding(lane, std::move(jobs), false);
  EXPECT_EQ(lanes.waiting(), 3U);
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lane)), (Ids{"1", "2"}));
}

TEST(LaneScheduler, ABusyNamespaceGoesBehindTheOthers) {
  Lanes lanes;
  Lanes::NamespaceLane& a = Open(lanes, "a");
  Lanes::NamespaceLane& b = Open(lanes, "b");
  for (Lanes::NamespaceLane* lane : {&a, &b}) {
    Push(lanes, *lane, "1");
    lanes.Queue(*lane);
  }
  EXPECT_EQ(&lanes.BeginDeciding(), &a);
  EXPECT_FALSE(lanes.Queue(a)) << "one thread at a time";
  lanes.EndDeciding(a, {}, false);
  lanes.Queue(a);
  EXPECT_EQ(&lanes.BeginDeciding(), &b);
  EXPECT_EQ(&lanes.BeginDeciding(), &a);
}

TEST(LaneScheduler, BulkBesideOtherWritersNeedsATurn) {
  Lanes lanes;
  Lanes::NamespaceLane& lane = Open(lanes, "a");
  lane.has_other_writers = true;
  Push(lanes, lane, "b1");
  EXPECT_TRUE(lanes.Queue(lane)) << "a turn is to be asked for";
  EXPECT_FALSE(lanes.has_ready());
  lane.is_turn_asked = true;
  Push(lanes, lane, "u1", true);
  EXPECT_FALSE(lanes.Queue(lane)) << "it was asked for";
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lanes.BeginDeciding())), (Ids{"u1"}));
  lane.turn.emplace();
  EXPECT_EQ(IdsOf(lanes.TakeJobs(lane)), (Ids{"b1"}));
}

TEST(LaneScheduler, AFullQueueRefusesAndLeavesTheJobAsItWas) {
  Lanes lanes({.waiting = 2});
  Lanes::NamespaceLane& lane = Open(lanes, "a");
  EXPECT_TRUE(Push(lanes, lane, "1"));
  EXPECT_TRUE(Push(lanes, lane, "2", true));
  DecisionJob job = Job("3");
  EXPECT_FALSE(lanes.Push(lane, job));
  EXPECT_EQ(job.document.id, "3");
  EXPECT_EQ(lanes.waiting(), 2U);
}

TEST(LaneScheduler, TheNamespaceThatWasIdleTheLongestGivesItsPlace) {
  Lanes lanes({.lanes = 2});
  for (const char* ns : {"a", "b"}) {
    Lanes::NamespaceLane& lane = Open(lanes, ns);
    Push(lanes, lane, "1");
    lanes.Queue(lane);
    lanes.TakeJobs(lanes.BeginDeciding());
  }
  const auto make = [] { return std::make_unique<FakeDecider>(); };
  EXPECT_EQ(lanes.Open("c", make), nullptr) << "both are in use";
  lanes.EndDeciding(*lanes.Find("a"), {}, false);
  lanes.EndDeciding(*lanes.Find("b"), {}, false);
  EXPECT_NE(lanes.Open("c", make), nullptr);
  EXPECT_EQ(lanes.Find("a"), nullptr);
  EXPECT_NE(lanes.Find("b"), nullptr);
}

TEST(LaneScheduler, WindowsThatCallsWaitForAreLoadedFirst) {
  Lanes lanes;
  Lanes::NamespaceLane& idle = Open(lanes, "idle", false);
  EXPECT_FALSE(lanes.Queue(idle));
  EXPECT_FALSE(lanes.has_load()) << "nothing asks for it";
  idle.wants_load = true;
  lanes.Queue(idle);
  Lanes::NamespaceLane& urgent = Open(lanes, "urgent", false);
  Push(lanes, urgent, "1", true);
  lanes.Queue(urgent);
  EXPECT_FALSE(lanes.has_ready());
  EXPECT_EQ(&lanes.BeginLoad(), &urgent);
  EXPECT_EQ(&lanes.BeginLoad(), &idle);
  EXPECT_FALSE(idle.wants_load);
}

TEST(LaneScheduler, AFailedLoadRefusesWhatWaitsAndIsTriedAgainWithBackoff) {
  Lanes lanes;
  Lanes::NamespaceLane& lane = Open(lanes, "a", false);
  for (const milliseconds backoff : {milliseconds(250), milliseconds(500), milliseconds(1000)}) {
    Push(lanes, lane, "1");
    lanes.Queue(lane);
    const auto refused = lanes.EndLoad(lanes.BeginLoad(), Internal("broken"), kNow);
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_EQ(refused[0].second.code(), StatusCode::kInternal);
    EXPECT_EQ(lane.retry_load, kNow + backoff);
    lanes.RetryLoads(kNow + backoff - milliseconds(1));
    EXPECT_FALSE(lanes.has_load());
    lanes.RetryLoads(kNow + backoff);
    EXPECT_TRUE(lanes.has_load());
    lanes.BeginLoad();
    lane.stage = Lanes::Stage::kIdle;
  }
  EXPECT_EQ(lanes.waiting(), 0U);
  lanes.EndLoad(lane, OkStatus(), kNow);
  EXPECT_EQ(lane.failed_loads, 0);
}

TEST(LaneScheduler, JobsWaitOutASlowStore) {
  Lanes lanes;
  Lanes::NamespaceLane& lane = Open(lanes, "a", false);
  Push(lanes, lane, "1");
  lanes.Queue(lane);
  EXPECT_TRUE(lanes.EndLoad(lanes.BeginLoad(), DeadlineExceeded("slow"), kNow).empty());
  EXPECT_EQ(lanes.waiting(), 1U);
}

TEST(LaneScheduler, OnlyJobsOfWindowsThatAreNotLoadedAreTaken) {
  Lanes lanes;
  Lanes::NamespaceLane& loaded = Open(lanes, "loaded");
  Lanes::NamespaceLane& loading = Open(lanes, "loading", false);
  for (const char* id : {"1", "2", "3"}) {
    Push(lanes, loaded, id);
    Push(lanes, loading, id);
  }
  const auto refused = lanes.TakeIf([](const Lanes::NamespaceLane&, const DecisionJob& job) {
    return job.document.id == "2" ? Internal("late") : OkStatus();
  });
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].first.document.id, "2");
  EXPECT_EQ(lanes.waiting(), 5U);
  EXPECT_EQ(loading.bulk.size(), 2U);
}

// What an observer expects of the queues, kept in the simplest way.
struct Oracle {
  std::map<std::string, std::map<bool, std::deque<std::string>>> queues;  // by lane, by urgency
  size_t waiting() const {
    size_t sum = 0;
    for (const auto& [ns, lane] : queues) {
      for (const auto& [is_urgent, ids] : lane) sum += ids.size();
    }
    return sum;
  }
};

TEST(LaneScheduler, LosesNothingAndKeepsTheOrderWhateverHappens) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Lanes lanes({.waiting = 8, .beside_urgent = 2});
    Oracle oracle;
    std::vector<Lanes::NamespaceLane*> deciding;
    std::map<Lanes::NamespaceLane*, std::vector<DecisionJob>> batches;
    int next = 0;
    for (int step = 0; step < 300; ++step) {
      const std::string ns(1, static_cast<char>('a' + random() % 3));
      Lanes::NamespaceLane& lane = Open(lanes, ns, random() % 2 == 0);
      const unsigned what = random() % 5;
      if (what <= 1) {
        const std::string id = std::to_string(next++);
        const bool is_urgent = random() % 3 == 0;
        auto& queues = oracle.queues[ns];
        const bool fits = queues[true].size() + queues[false].size() < 8;
        ASSERT_EQ(Push(lanes, lane, id, is_urgent), fits);
        if (fits) queues[is_urgent].push_back(id);
        if (lanes.Queue(lane)) lane.turn.emplace();
        lanes.Queue(lane);
      } else if (what == 2 && lanes.has_ready()) {
        Lanes::NamespaceLane& taken = lanes.BeginDeciding();
        taken.decider->limit = 1 + random() % 4;
        auto jobs = lanes.TakeJobs(taken);
        ASSERT_LE(jobs.size(), taken.decider->limit);
        for (const DecisionJob& job : jobs) {
          auto& ids = oracle.queues[taken.ns][job.is_urgent];
          ASSERT_EQ(job.document.id, ids.front());
          ids.pop_front();
        }
        taken.turn.reset();
        batches[&taken] = std::move(jobs);
        deciding.push_back(&taken);
      } else if (what == 3 && !deciding.empty()) {
        Lanes::NamespaceLane& done = *deciding.back();
        deciding.pop_back();
        std::vector<DecisionJob> left = std::move(batches[&done]);
        left.erase(left.begin(), left.begin() + static_cast<long>(random() % (left.size() + 1)));
        for (size_t i = left.size(); i-- > 0;) {
          oracle.queues[done.ns][left[i].is_urgent].push_front(left[i].document.id);
        }
        lanes.EndDeciding(done, std::move(left), random() % 4 == 0);
        if (lanes.Queue(done)) done.turn.emplace();
        lanes.Queue(done);
      } else if (what == 4 && lanes.has_load()) {
        Lanes::NamespaceLane& loaded = lanes.BeginLoad();
        loaded.decider->loaded = true;
        ASSERT_TRUE(lanes.EndLoad(loaded, OkStatus(), kNow).empty());
        if (lanes.Queue(loaded)) loaded.turn.emplace();
        lanes.Queue(loaded);
      }
      ASSERT_EQ(lanes.waiting(), oracle.waiting()) << "seed " << seed << ", step " << step;
    }
    const size_t waiting = lanes.waiting();
    EXPECT_EQ(lanes.Clear().size(), waiting);
    EXPECT_EQ(lanes.waiting(), 0U);
  }
}

}  // namespace
}  // namespace winnow::dedup
