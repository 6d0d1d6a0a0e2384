#include <atomic>
#include <thread>

#include "tests/integration/polling/view_fixture.h"

// The published view against a real Redis that is flushed, killed, full and stalled.
namespace winnow::polling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(PollingViewTest, ShowsWhatThePublishedCommandsAskFor) {
  Register("123");
  Pass(std::chrono::milliseconds(1500));
  Register("456");
  ASSERT_TRUE(Look().ok());
  const auto millis = [](Time time) {
    return std::to_string(
        std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count());
  };
  EXPECT_THAT(Shown(kProcessing), ElementsAre(std::pair("123", millis(Get("123").state_time)),
                                              std::pair("456", millis(now_))));
  EXPECT_THAT(*Run({"ZRANGEBYSCORE", kProcessing, "0", millis(now_ - Micros(1000))}).Texts(),
              ElementsAre("123"));

  Pass(std::chrono::seconds(1));
  MoveOn(Claim("w")[0]);
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(Shown(kSummarizing), ElementsAre(std::pair("123", millis(now_))));
  EXPECT_EQ(Count(kProcessing), 1);
  const std::vector<Job> jobs = Claim("w", 2);
  ASSERT_EQ(jobs.size(), 2u);
  for (const Job& job : jobs) {
    ASSERT_TRUE(store_.Do(Soon(), job.key, command::Complete{job.token, ""}, "").ok());
  }
  ASSERT_TRUE(Look().ok());
  EXPECT_THAT(Shown(kSummarizing), IsEmpty());
  EXPECT_THAT(Shown(kProcessing), IsEmpty());
}

TEST_F(PollingViewTest, FlushedOrKilledItComesBackWholeAndNothingIsLost) {
  RegisterMany(700);
  MoveOn(Claim("w")[0]);
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(Count(kProcessing), 699);
  Run({"FLUSHALL"});
  EXPECT_EQ(Claim("w", 10).size(), 10u) << "claims do not read Redis";
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(Count(kProcessing), 699);
  EXPECT_EQ(Count(kSummarizing), 1);

  server_.Kill();
  EXPECT_FALSE(Look().ok());
  EXPECT_EQ(Claim("w", 10).size(), 10u);
  server_.Start();
  EXPECT_TRUE(test::Eventually([&] { return Look().ok(); }));
  EXPECT_EQ(Count(kProcessing), 699);
  EXPECT_EQ(*view_.Repair(), 0);
}

TEST_F(PollingViewTest, AFullRedisIsBehindAndCatchesUp) {
  Register("1");
  ASSERT_TRUE(Look().ok());
  Run({"CONFIG", "SET", "maxmemory", "1"});
  RegisterMany(50);
  EXPECT_FALSE(Look().ok());
  EXPECT_EQ(Claim("w", 51).size(), 51u);
  Run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(test::Eventually([&] { return Look().ok(); }));
  EXPECT_EQ(Count(kProcessing), 51);
}

TEST_F(PollingViewTest, ARepairFindsAndMendsEveryKindOfDrift) {
  RegisterMany(6);
  MoveOn(Claim("w")[0]);  // either key is Winnow's
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(*view_.Repair(), 0);
  const std::vector<std::string> ids = *Run({"ZRANGE", kProcessing, "0", "-1"}).Texts();
  ASSERT_EQ(ids.size(), 5u);
  Run({"ZREM", kProcessing, ids[0]});         // missing
  Run({"ZADD", kProcessing, "5", ids[1]});    // with another score
  Run({"ZADD", kProcessing, "5", "nobody"});  // unknown
  Run({"ZADD", kSummarizing, "5", ids[2]});   // in two states
  EXPECT_EQ(*view_.Repair(), 4);
  EXPECT_EQ(Count(kProcessing), 5);
  EXPECT_EQ(Count(kSummarizing), 1);
  EXPECT_THAT(metrics_.Render(), testing::HasSubstr("winnow_polling_view_drift 4"));
  EXPECT_EQ(*view_.Repair(), 0);
  EXPECT_THAT(metrics_.Render(), testing::HasSubstr("winnow_polling_view_drift 0"));
}

TEST_F(PollingViewTest, WhatAnOlderPolicyShowedIsShownNoMore) {
  Register("1");
  ASSERT_TRUE(Look().ok());
  const auto moved = store_.UpdatePolicy(Soon(), {"stt", std::nullopt,
                                                  [](Policy policy) {
                                                    policy.view_prefix = "speech:";
                                                    return policy;
                                                  },
                                                  "mina", "", ""});
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(*view_.Repair(), 1);
  EXPECT_EQ(Count("speech:processing"), 1);
  EXPECT_EQ(Count(kProcessing), 0);
}

TEST_F(PollingViewTest, ClaimsGoOnThroughAFlushAndTheViewComesBackByItself) {
  constexpr int kJobs = 1000;
  RegisterMany(kJobs);
  sequencer_.Start();
  view_.Start();
  ASSERT_TRUE(test::Eventually([&] { return Count(kProcessing) == kJobs; }));
  std::atomic<bool> stop = false;
  std::atomic<int> given = 0;
  std::thread worker([&] {
    while (!stop && given < kJobs) given += static_cast<int>(Claim("w", 5).size());
  });
  for (int i = 0; i < 5; ++i) {
    const int before = given;
    Run({"FLUSHALL"});
    // Nothing is written to history meanwhile: the loss itself is noticed.
    EXPECT_TRUE(test::Eventually([&] { return Count(kProcessing) == kJobs; }));
    EXPECT_TRUE(test::Eventually([&] { return given > before || given == kJobs; }));
  }
  stop = true;
  worker.join();
  EXPECT_GT(given, 0);
  view_.Stop();
  sequencer_.Stop();
}

TEST_F(PollingViewTest, TwoProcessesThatWriteAtOnceAgreeWithTheStoreInTheEnd) {
  const auto other_client = Connect();
  Metrics other_metrics;
  ViewWorker other(store_, *other_client, other_metrics, ViewWorker::Options());
  RegisterMany(200);
  std::thread writes([&] {
    for (int i = 0; i < 20; ++i) {
      for (const Job& job : Claim("w", 10)) {
        if (job.state == "processing") MoveOn(job);  // one that was moved is due again
      }
    }
  });
  std::thread looks([&] {
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(other.Look().ok());
  });
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(Look().ok());
  writes.join();
  looks.join();
  ASSERT_TRUE(Look().ok());
  const int64_t summarizing =
      Number("SELECT count(*) FROM polling.jobs WHERE state = 'summarizing' AND phase <= 2");
  EXPECT_GT(summarizing, 0);
  EXPECT_EQ(*view_.Repair(), 0);
  EXPECT_EQ(Count(kSummarizing), summarizing);
  EXPECT_EQ(Count(kProcessing), 200 - summarizing);
}

}  // namespace
}  // namespace winnow::polling
