#include <gtest/gtest.h>

#include <future>

#include "services/collector/sources/source_store.h"
#include "services/platform/base/uuid.h"
#include "tests/integration/collector/runs_fixture.h"
#include "tests/support/postgres/postgres_history.h"

// What the published schedule did wrong, each a test that fails where it is done again; and calls
// that are sent again.
namespace winnow::collector {
namespace {

using EndedRun = Run;  // a fixture has a Run of its own

class PublishedSchedule : public CollectorRuns {
 protected:
  static v1::Source NewsData(const std::string& id) {
    v1::Source source;
    source.set_id(id);
    source.set_skip_images(true);
    source.mutable_newsdata()->set_credential("newsdata");
    return source;
  }
};

// One task for all, which ignored its `source`, called NewsData every 5 minutes: 1,008 of 200 a
// day.
TEST_F(PublishedSchedule, WhatIsDueOfOneSourceCallsNoOther) {
  test::FakeNaver naver(3);
  test::FakeNewsData newsdata(1, 3);
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  AddCredential("newsdata", newsdata.server().Url("/api/1/latest"));
  Start();
  replica_->Create(Naver("korean"));
  replica_->Create(NewsData("latest"));
  replica_->Runs("korean", 1);
  replica_->Runs("latest", 1);
  const v1::Source latest = replica_->Get("latest");
  EXPECT_EQ(latest.interval().seconds(), 1'800);
  EXPECT_EQ(replica_->Get("korean").interval().seconds(), 300);
  for (size_t run = 2; run <= 4; ++run) {
    test::RunSql(replica_->platform().parts().writes,
                 "UPDATE collector.sources SET next_run_time = now() WHERE id = 'korean'");
    replica_->Runs("korean", run);
  }
  EXPECT_EQ(naver.server().requests().size(), 4U);
  EXPECT_EQ(newsdata.server().requests().size(), 1U);
  EXPECT_EQ(replica_->Get("latest").next_run_time().seconds(), latest.next_run_time().seconds());
}

// A limiter was written, and nothing made one.
TEST_F(PublishedSchedule, TheLimiterIsBetweenEverySourceAndItsVendor) {
  test::FakeNewsData newsdata(1, 3);
  AddCredential("newsdata", newsdata.server().Url("/api/1/latest"));
  config_.mutable_credentials(0)->set_calls_per_day(2);
  Start();
  for (int i = 0; i < 4; ++i) replica_->Create(NewsData("s" + std::to_string(i)));
  int refused = 0;
  for (int i = 0; i < 4; ++i) {
    const v1::Run run = replica_->Runs("s" + std::to_string(i), 1)[0];
    refused += run.outcome() == v1::RUN_OUTCOME_QUOTA_DAY;
    EXPECT_EQ(run.calls(), run.outcome() == v1::RUN_OUTCOME_OK ? 1 : 0);
  }
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(newsdata.server().requests().size(), 2U);
  EXPECT_EQ(replica_->QuotaOf("newsdata").day_used(), 2);
}

// Every failure was reported as a success.
TEST_F(PublishedSchedule, AnErrorIsNoSuccess) {
  test::FakeNaver naver(3);
  naver.Script({500, test::FakeNaver::Error("SE99"), {}, {}});
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  Start();
  replica_->Create(Naver("one"));
  EXPECT_EQ(replica_->Runs("one", 1)[0].outcome(), v1::RUN_OUTCOME_UPSTREAM);
  EXPECT_EQ(replica_->Get("one").failures(), 1);
  EXPECT_FALSE(replica_->Get("one").has_last_success_time());
  const std::string counted = "winnow_collector_runs_total{kind=\"naver\",outcome=\"upstream\"} 1";
  EXPECT_TRUE(test::Eventually(
      [&] { return replica_->platform().metrics().Render().find(counted) != std::string::npos; }));
  replica_->RunNow("one");
  EXPECT_EQ(replica_->Get("one").failures(), 0);
  EXPECT_TRUE(replica_->Get("one").has_last_success_time());
}

TEST_F(PublishedSchedule, AnAnswerThatTakesLongerThanItMayIsGivenUpAndCounts) {
  test::FakeNaver naver(3);
  naver.Script(
      {200, std::string(2'000, ' '), {}, std::chrono::milliseconds(20), 1'000, false, false});
  web_.Script({200, "<rss>", {}, {}, 2, false, true});
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  config_.mutable_vendor_timeout()->set_nanos(300'000'000);
  config_.mutable_feed_timeout()->set_nanos(300'000'000);
  Start();
  replica_->Create(Naver("slow"));
  replica_->Create(Feed("feed", web_.server().Url("/feed")));
  for (const char* source : {"slow", "feed"}) {
    const v1::Run run = replica_->Runs(source, 1)[0];
    EXPECT_EQ(run.outcome(), v1::RUN_OUTCOME_UPSTREAM) << source;
    EXPECT_EQ(run.code(), "timeout") << source;
  }
  EXPECT_EQ(replica_->QuotaOf("naver").day_used(), 1);
}

// Sources that nobody runs, and runs by hand.
class AskedRuns : public CollectorRuns {
 protected:
  AskedRuns() {
    config_.set_no_schedule(true);
    Start();
    replica_->Create(Feed("one", "https://one.example/rss"));
  }
  static Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }
  static std::string NewId() { return NewUuidV7(SystemClock().Now()); }
  std::string Ask(const std::string& request_id) {
    v1::RunSourceRequest request;
    request.set_id("one");
    request.set_request_id(request_id);
    return replica_->Call(&Stub::RunSource, request).run_id();
  }
  Claim ClaimBy(const std::string& holder) {
    EXPECT_TRUE(sources_.TakeLease(Soon(), holder, std::chrono::seconds(60))->has_value());
    return sources_.ClaimDue(Soon(), holder, {NewId()})->at(0);
  }
  void End(const Claim& claim) {
    EndedRun run;
    run.id = claim.source.run_id;
    run.source_id = "one";
    run.ns = "default";
    run.kind = SourceKind::kFeed;
    run.outcome = Outcome::kOk;
    run.begin_time = run.end_time = claim.begin_time;
    EXPECT_TRUE(sources_.EndRun(Soon(), claim.source, run, {.wait = std::chrono::hours(1)}).ok());
  }

  Metrics metrics_;
  pg::Pool pool_{{.name = "test", .url = url_, .password = "", .connections = 4}, metrics_};
  SourceStore sources_{pool_, pool_};
};

TEST_F(AskedRuns, AreTheSameForTheSameRequestWhateverBecameOfThem) {
  const std::string run = Ask("monday");
  EXPECT_EQ(Ask("monday"), run);
  EXPECT_EQ(Ask("tuesday"), run) << "it has not begun";
  const Claim claim = ClaimBy(NewId());
  EXPECT_EQ(claim.source.run_id, run);
  EXPECT_EQ(Ask("monday"), run) << "it goes on";
  End(claim);
  EXPECT_EQ(Ask("monday"), run) << "it has ended";
  EXPECT_TRUE(sources_.Get(Soon(), "one")->requested_run_id.empty());
  EXPECT_NE(Ask("wednesday"), run);
  EXPECT_NE(Ask(""), run);
  // Forgotten as runs are, and with their source.
  EXPECT_TRUE(sources_.DeleteOldRuns(Soon(), std::chrono::hours(1)).ok());
  EXPECT_EQ(Ask("monday"), run);
  v1::DeleteSourceRequest remove;
  remove.set_id("one");
  replica_->Call(&Stub::DeleteSource, remove);
  EXPECT_EQ(test::QueryNumber(pool_, "SELECT count(*) FROM collector.run_requests"), 0);
}

TEST_F(AskedRuns, TwoAtATimeWithOneRequestAreOneRun) {
  std::vector<std::future<std::string>> asked;
  for (int i = 0; i < 4; ++i) {
    asked.push_back(std::async(std::launch::async, [&] {
      return sources_.RequestRun(Soon(), "one", NewId(), "once").value_or("refused");
    }));
  }
  const std::string run = asked[0].get();
  for (size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i].get(), run);
}

TEST_F(AskedRuns, AreToldAsAskedForAlsoWhenTheirProcessDied) {
  const std::string run = Ask("");
  EXPECT_TRUE(ClaimBy(NewId()).requested);
  test::RunSql(pool_, "UPDATE collector.scheduler_lease SET expire_time = '-infinity'");
  const std::string heir = NewId();
  ASSERT_TRUE(sources_.TakeLease(Soon(), heir, std::chrono::seconds(60))->has_value());
  ASSERT_EQ(*sources_.EndLostRuns(Soon(), heir), 1);
  const v1::Run lost = replica_->Runs("one", 1)[0];
  EXPECT_EQ(lost.id(), run);
  EXPECT_TRUE(lost.requested());
  EXPECT_FALSE(ClaimBy(heir).requested) << "the run that makes up for it was not";
}

TEST_F(AskedRuns, AWatchEndsWhenItsHistoryIsReplaced) {
  End(ClaimBy(NewId()));
  ASSERT_TRUE(test::Eventually(
      [&] { return test::QueryNumber(pool_, "SELECT count(*) FROM collector.log_streams") == 1; }));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const auto reader = replica_->stub().WatchRuns(&context, v1::WatchRunsRequest());
  v1::WatchRunsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  test::BeginNewHistory();
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace winnow::collector
