#include "services/platform/grpc/runtime/job_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "services/platform/grpc/runtime/byte_budget.h"
#include "services/platform/grpc/runtime/long_calls.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::rpc {
namespace {

struct TestJob final : Job {
  explicit TestJob(std::function<void()> work) : body(std::move(work)) {}
  void Run() override { body(); }
  size_t Bytes() const override { return bytes; }
  std::function<void()> body;
  size_t bytes = 0;
};

TEST(JobPool, RunsJobsInTheOrderTheyCame) {
  std::vector<int> order;
  std::vector<std::unique_ptr<TestJob>> jobs;
  JobPool pool("test", 1, 100);
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(std::make_unique<TestJob>([&order, i] { order.push_back(i); }));
    ASSERT_TRUE(pool.TryPush(*jobs.back()));
  }
  pool.Stop();
  ASSERT_EQ(order.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(JobPool, RefusesWhatIsBeyondItsLimitAndTakesItWhenThereIsRoom) {
  test::Gate gate;
  std::atomic<int> done = 0;
  TestJob blocker([&] { gate.Wait(); });
  TestJob first([&] { ++done; });
  TestJob second([&] { ++done; });
  TestJob third([&] { ++done; });
  TestJob beyond([&] { ++done; });
  JobPool pool("test", 1, 2);
  ASSERT_TRUE(pool.TryPush(blocker));
  ASSERT_TRUE(test::Eventually([&] { return gate.Waiting() == 1; }));
  EXPECT_TRUE(pool.TryPush(first));
  EXPECT_TRUE(pool.TryPush(second));
  EXPECT_EQ(pool.Depth(), 2);
  EXPECT_FALSE(pool.TryPush(third));
  pool.Push(beyond);
  EXPECT_EQ(pool.Depth(), 3);
  gate.Open();
  ASSERT_TRUE(test::Eventually([&] { return done == 3; }));
  EXPECT_TRUE(pool.TryPush(third));
  EXPECT_TRUE(test::Eventually([&] { return done == 4; }));
}

TEST(JobPool, RefusesMoreBytesThanMayWait) {
  test::Gate gate;
  TestJob blocker([&] { gate.Wait(); });
  TestJob first([] {});
  TestJob large([] {});
  TestJob too_much([] {});
  large.bytes = JobPool::kMaxWaitingBytes;
  too_much.bytes = 1;
  JobPool pool("test", 1, 100);
  ASSERT_TRUE(pool.TryPush(blocker));
  ASSERT_TRUE(test::Eventually([&] { return gate.Waiting() == 1; }));
  EXPECT_TRUE(pool.TryPush(first));
  EXPECT_TRUE(pool.TryPush(large));
  EXPECT_FALSE(pool.TryPush(too_much));
  gate.Open();
  EXPECT_TRUE(test::Eventually([&] { return pool.Depth() == 0; }));
  EXPECT_TRUE(pool.TryPush(too_much));
}

TEST(JobPool, RunsAsManyJobsAtOnceAsItHasThreads) {
  JobPool pool("test", 4, 100);
  for (int round = 0; round < 100; ++round) {
    test::Gate gate;
    std::vector<std::unique_ptr<TestJob>> jobs;
    for (int i = 0; i < 4; ++i) {
      jobs.push_back(std::make_unique<TestJob>([&gate] { gate.Wait(); }));
      ASSERT_TRUE(pool.TryPush(*jobs.back()));
    }
    ASSERT_TRUE(test::Eventually([&] { return gate.Waiting() == 4; }));
    gate.Open();
    ASSERT_TRUE(test::Eventually([&] { return gate.Waiting() == 0; }));
  }
}

TEST(JobPool, RunsWhatStillWaitsWhenItStops) {
  std::atomic<int> done = 0;
  std::vector<std::unique_ptr<TestJob>> jobs;
  JobPool pool("test", 4, 1000);
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(std::make_unique<TestJob>([&done] { ++done; }));
    ASSERT_TRUE(pool.TryPush(*jobs.back()));
  }
  pool.Stop();
  EXPECT_EQ(done, 1000);
  EXPECT_FALSE(pool.TryPush(*jobs[0]));
}

TEST(JobPool, LosesNoJobUnderManyWriters) {
  std::atomic<int> done = 0;
  TestJob job([&done] { ++done; });
  std::vector<std::vector<TestJob>> jobs(4, std::vector<TestJob>(5000, job));
  JobPool pool("test", 3, 1'000'000);
  std::vector<std::thread> writers;
  for (auto& mine : jobs) {
    writers.emplace_back([&pool, &mine] {
      for (TestJob& each : mine) pool.Push(each);
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_TRUE(test::Eventually([&] { return done == 20'000; }));
}

constexpr std::chrono::milliseconds kNoPatience{0};

struct Ended final : LongCall {
  void EndForShutdown() override { ++count; }
  std::optional<Deadline> IdleSince() override { return idle_since; }
  void EndForRoom() override { ++made_room; }
  int count = 0;
  int made_room = 0;
  std::optional<Deadline> idle_since;  // none: at work
};

TEST(LongCalls, TakesNoMoreThanItsLimit) {
  LongCalls calls(2, kNoPatience);
  const auto first = std::make_shared<Ended>();
  const auto second = std::make_shared<Ended>();
  const auto third = std::make_shared<Ended>();
  auto place = calls.Add(first);
  const auto kept = calls.Add(second);
  ASSERT_TRUE(place && kept);
  EXPECT_EQ(calls.Add(third), nullptr);
  place.reset();
  EXPECT_NE(calls.Add(third), nullptr);
}

TEST(LongCalls, TheOneThatWasIdleLongestGivesItsPlaceUp) {
  const auto now = std::chrono::steady_clock::now();
  LongCalls calls(3, std::chrono::minutes(1));
  const auto busy = std::make_shared<Ended>();
  const auto idle = std::make_shared<Ended>();
  const auto idler = std::make_shared<Ended>();
  idle->idle_since = now - std::chrono::minutes(2);
  idler->idle_since = now - std::chrono::minutes(3);
  const auto busy_place = calls.Add(busy);
  const auto idle_place = calls.Add(idle);
  auto idler_place = calls.Add(idler);
  const auto next = std::make_shared<Ended>();
  next->idle_since = now - std::chrono::seconds(30);  // not for long enough
  const auto next_place = calls.Add(next);
  EXPECT_NE(next_place, nullptr);
  EXPECT_EQ(idler->made_room, 1);
  idler_place.reset();  // it had none any more
  const auto after = std::make_shared<Ended>();
  const auto after_place = calls.Add(after);
  EXPECT_NE(after_place, nullptr);
  EXPECT_EQ(idle->made_room, 1);
  EXPECT_EQ(calls.Add(std::make_shared<Ended>()), nullptr);
  EXPECT_EQ(busy->made_room + next->made_room + after->made_room, 0);
}

TEST(ByteBudget, LeavesRoomForThoseThatHoldLittle) {
  ByteBudget budget(1000);
  EXPECT_TRUE(budget.Fits(0, 5000));  // or its stream would stand still
  EXPECT_TRUE(budget.Fits(200, 50));
  EXPECT_FALSE(budget.Fits(200, 51));
  budget.Take(900);
  EXPECT_TRUE(budget.Fits(10, 15));
  EXPECT_FALSE(budget.Fits(10, 16));
  budget.Take(900);
  EXPECT_FALSE(budget.Fits(1, 0));
  EXPECT_TRUE(budget.Fits(0, 1));
  budget.GiveBack(1800);
  EXPECT_EQ(budget.used(), 0U);
}

TEST(LongCalls, EndsThoseThatAreThereAndThoseThatCome) {
  LongCalls calls(10, kNoPatience);
  const auto there = std::make_shared<Ended>();
  auto gone = std::make_shared<Ended>();
  const auto place = calls.Add(there);
  const auto place_of_gone = calls.Add(gone);
  gone.reset();
  calls.EndAll();
  EXPECT_EQ(there->count, 1);
  const auto late = std::make_shared<Ended>();
  EXPECT_NE(calls.Add(late), nullptr);
  EXPECT_EQ(late->count, 1);
}

TEST(OutsideCalls, RefusesAndWaitsForTheRest) {
  OutsideCalls calls;
  ASSERT_TRUE(calls.Begin());
  ASSERT_TRUE(calls.Begin());
  calls.Refuse();
  EXPECT_FALSE(calls.Begin());
  EXPECT_FALSE(calls.WaitUntilNone(std::chrono::steady_clock::now()));
  std::thread rest([&] {
    calls.End();
    calls.End();
  });
  EXPECT_TRUE(calls.WaitUntilNone(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  rest.join();
}

}  // namespace
}  // namespace winnow::rpc
