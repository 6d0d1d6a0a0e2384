#include <gmock/gmock.h>

#include <set>

#include "tests/integration/collector/runs_fixture.h"
#include "tests/support/postgres/postgres_history.h"

namespace winnow::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CollectorRuns, NaversLegacyProfileIsAskedAndWhatIsKnownIsNotStoredAgain) {
  test::FakeNaver naver(150);
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  Start();
  v1::Source source = Naver("climate");
  source.mutable_naver()->set_max_pages(3);
  source.add_categories("climate");
  replica_->Create(source);
  const v1::Run run = replica_->Runs("climate", 1)[0];
  EXPECT_EQ(run.outcome(), v1::RUN_OUTCOME_OK) << run.DebugString();
  EXPECT_EQ(run.new_items(), 150);
  EXPECT_EQ(run.calls(), 2);
  const auto requests = naver.server().requests();
  EXPECT_EQ(requests[0].headers.at("x-naver-client-id"), "the-id");
  EXPECT_EQ(requests[0].headers.at("x-naver-client-secret"), "the-key");
  EXPECT_EQ(requests[0].query.at("query"), "기후");
  EXPECT_EQ(requests[1].query.at("start"), "101");
  EXPECT_THAT(requests[0].target, Not(HasSubstr("the-key")));
  naver.Shift();
  const v1::Run again = replica_->RunNow("climate");
  EXPECT_EQ(again.new_items(), 1);
  EXPECT_TRUE(again.requested());
  EXPECT_EQ(replica_->ItemCount(), 151);
  EXPECT_GE(replica_->QuotaOf("naver").day_used(), 3);
}

TEST_F(CollectorRuns, NaversApiHubIsAskedByItsOwnHeaders) {
  test::FakeNaver naver(5);
  AddCredential("naver-hub", naver.server().Url("/search/v1/news"));
  Start();
  replica_->Create(Naver("hub", "naver-hub"));
  EXPECT_EQ(replica_->Runs("hub", 1)[0].new_items(), 5);
  const auto requests = naver.server().requests();
  EXPECT_EQ(requests[0].headers.at("x-ncp-apigw-api-key-id"), "the-id");
  EXPECT_EQ(requests[0].headers.at("x-ncp-apigw-api-key"), "the-key");
}

struct ErrorRow {
  int status;
  const char* code;
  v1::RunOutcome outcome;
  v1::SourceState state;
};

TEST_F(CollectorRuns, EveryErrorOfNaverEndsTyped) {
  test::FakeNaver naver(3);
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  Start();
  const ErrorRow rows[] = {
      {400, "SE01", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {400, "SE02", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {400, "SE03", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {400, "SE04", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {400, "SE06", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {200, "SE06", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {404, "SE05", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {403, "", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {500, "SE99", v1::RUN_OUTCOME_UPSTREAM, v1::SOURCE_STATE_ACTIVE},
      {200, "no JSON", v1::RUN_OUTCOME_PARSE, v1::SOURCE_STATE_ACTIVE},
      {401, "024", v1::RUN_OUTCOME_AUTH, v1::SOURCE_STATE_ACTIVE},
  };
  int number = 0;
  for (const ErrorRow& row : rows) {
    const bool json = row.code != std::string("no JSON");
    naver.Script(
        {row.status, json ? test::FakeNaver::Error(row.code, number % 2 == 1) : "<html>", {}, {}});
    const std::string id = "e" + std::to_string(number++);
    replica_->Create(Naver(id));
    const v1::Run run = replica_->Runs(id, 1)[0];
    EXPECT_EQ(run.outcome(), row.outcome) << row.code;
    EXPECT_EQ(replica_->Get(id).state(), row.state) << row.code;
    EXPECT_EQ(run.new_items(), 0);
  }
  // The refused key opened the breaker: nobody is asked with it any more.
  const size_t asked = naver.server().requests().size();
  replica_->Create(Naver("after"));
  EXPECT_EQ(replica_->Runs("after", 1)[0].outcome(), v1::RUN_OUTCOME_AUTH);
  EXPECT_EQ(naver.server().requests().size(), asked);
  EXPECT_EQ(replica_->QuotaOf("naver").blocked_by(), v1::RUN_OUTCOME_AUTH);
}

TEST_F(CollectorRuns, EveryErrorOfNewsDataEndsTypedInBothShapes) {
  test::FakeNewsData newsdata(1, 3);
  AddCredential("newsdata", newsdata.server().Url("/api/1/latest"));
  Start();
  const ErrorRow rows[] = {
      {401, "Unauthorized", v1::RUN_OUTCOME_AUTH, v1::SOURCE_STATE_ACTIVE},
      {403, "AccessDeniedForPlan", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {409, "ParameterDuplicate", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {415, "UnsupportedMediaType", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {422, "UnprocessableEntity", v1::RUN_OUTCOME_BLOCKED, v1::SOURCE_STATE_BLOCKED},
      {429, "TooManyRequests", v1::RUN_OUTCOME_RATE, v1::SOURCE_STATE_ACTIVE},
      {500, "InternalServerError", v1::RUN_OUTCOME_UPSTREAM, v1::SOURCE_STATE_ACTIVE},
      {200, "Unauthorized", v1::RUN_OUTCOME_AUTH, v1::SOURCE_STATE_ACTIVE},
  };
  int number = 0;
  for (const ErrorRow& row : rows) {
    const std::string code = row.code;
    const std::string nested =
        R"({"status":"error","results":{"message":"m","code":")" + code + "\"}}";
    const std::string flat = R"({"status":"error","message":"m"})";
    for (const std::string& body : {nested, flat}) {
      if (row.status == 200 && body == flat) continue;  // says nothing of what is wrong
      // What one row does to the ledger is not the next one's.
      test::RunSql(replica_->platform().parts().writes, "DELETE FROM collector.quotas");
      newsdata.Script({row.status, body, {}, {}});
      v1::Source source;
      source.set_id("e" + std::to_string(number++));
      source.mutable_newsdata()->set_credential("newsdata");
      replica_->Create(source);
      const v1::Run run = replica_->Runs(source.id(), 1)[0];
      EXPECT_EQ(run.outcome(), row.outcome) << row.status << body;
      EXPECT_EQ(run.code(), body == flat ? "HTTP " + std::to_string(row.status) : code);
      EXPECT_EQ(replica_->Get(source.id()).state(), row.state) << row.status << body;
    }
  }
}

TEST_F(CollectorRuns, TooManyASecondIsWaitedForAndTheDaysEndIsNot) {
  test::FakeNaver naver(3);
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  naver.Script({429, test::FakeNaver::Error("012"), {}, {}});
  Start();
  replica_->Create(Naver("a"));
  const v1::Run run = replica_->Runs("a", 1)[0];
  EXPECT_EQ(run.outcome(), v1::RUN_OUTCOME_OK);
  EXPECT_EQ(run.calls(), 2);
  naver.Script({429, test::FakeNaver::Error("010"), {}, {}});
  EXPECT_EQ(replica_->RunNow("a").outcome(), v1::RUN_OUTCOME_QUOTA_DAY);
  const size_t asked = naver.server().requests().size();
  EXPECT_EQ(replica_->RunNow("a").outcome(), v1::RUN_OUTCOME_QUOTA_DAY);
  replica_->Create(Naver("b"));
  EXPECT_EQ(replica_->Runs("b", 1)[0].outcome(), v1::RUN_OUTCOME_QUOTA_DAY);
  EXPECT_EQ(naver.server().requests().size(), asked);
  const v1::Quota quota = replica_->QuotaOf("naver");
  EXPECT_EQ(quota.blocked_by(), v1::RUN_OUTCOME_QUOTA_DAY);
  EXPECT_GE(quota.blocked_until().seconds(), quota.reset_time().seconds());
  EXPECT_GE(replica_->Get("b").next_run_time().seconds(), quota.reset_time().seconds() - 1);
}

TEST_F(CollectorRuns, NewsDataIsPagedByItsTokensWithinItsCredits) {
  test::FakeNewsData newsdata(3, 10);
  AddCredential("newsdata", newsdata.server().Url("/api/1/latest"));
  Start();
  v1::Source source;
  source.set_id("data");
  source.mutable_newsdata()->set_credential("newsdata");
  source.mutable_newsdata()->set_country("kr");
  source.mutable_newsdata()->set_max_pages(5);
  replica_->Create(source);
  const v1::Run run = replica_->Runs("data", 1)[0];
  EXPECT_EQ(run.outcome(), v1::RUN_OUTCOME_OK) << run.DebugString();
  EXPECT_EQ(run.new_items(), 30);
  EXPECT_EQ(run.calls(), 3);
  EXPECT_EQ(run.fetched_pages(), 0);  // they came with pictures
  for (const test::FakeRequest& request : newsdata.server().requests()) {
    EXPECT_EQ(request.headers.at("x-access-key"), "the-key");
    EXPECT_THAT(request.target, Not(HasSubstr("the-key")));
  }
  // The vendor's own count, and its word to wait.
  newsdata.Script({429,
                   R"({"status":"error","results":{"message":"m","code":"RateLimitExceeded"}})",
                   {{"X-API-Limit-Remaining", "50"}, {"Retry-After", "600"}},
                   {}});
  EXPECT_EQ(replica_->RunNow("data").outcome(), v1::RUN_OUTCOME_RATE);
  EXPECT_EQ(replica_->QuotaOf("newsdata").day_used(), 150);
  const size_t asked = newsdata.server().requests().size();
  EXPECT_EQ(replica_->RunNow("data").outcome(), v1::RUN_OUTCOME_RATE);
  EXPECT_EQ(newsdata.server().requests().size(), asked);
}

TEST_F(CollectorRuns, AFeedIsAskedConditionally) {
  Start();
  replica_->Create(Feed("feed", web_.server().Url("/feed")));
  EXPECT_EQ(replica_->Runs("feed", 1)[0].new_items(), 3);
  const v1::Run unchanged = replica_->RunNow("feed");
  EXPECT_EQ(unchanged.outcome(), v1::RUN_OUTCOME_OK);
  EXPECT_EQ(unchanged.known_items(), 0);  // 304: nothing was read
  web_.AddEntry();
  const v1::Run more = replica_->RunNow("feed");
  EXPECT_EQ(more.new_items(), 1);
  EXPECT_EQ(more.known_items(), 3);
  web_.Script({200, "<html><body>moved</body></html>", {}, {}});
  EXPECT_EQ(replica_->RunNow("feed").outcome(), v1::RUN_OUTCOME_PARSE);
  web_.Script({503, "", {{"Retry-After", "3600"}}, {}});
  EXPECT_EQ(replica_->RunNow("feed").outcome(), v1::RUN_OUTCOME_UPSTREAM);
  EXPECT_EQ(replica_->Get("feed").failures(), 2);
  web_.Script({410, "", {}, {}});
  EXPECT_EQ(replica_->RunNow("feed").outcome(), v1::RUN_OUTCOME_BLOCKED);
  EXPECT_EQ(replica_->Get("feed").state(), v1::SOURCE_STATE_BLOCKED);
}

TEST_F(CollectorRuns, AFeedInThePrivateNetworkIsNotFetched) {
  test::FakeWeb secret;
  Start();
  replica_->Create(Feed("inside", secret.server().Url("/feed")));
  replica_->Create(Feed("metadata", "http://169.254.169.254/latest/meta-data"));
  EXPECT_EQ(replica_->Runs("inside", 1)[0].outcome(), v1::RUN_OUTCOME_BLOCKED);
  EXPECT_EQ(replica_->Runs("metadata", 1)[0].outcome(), v1::RUN_OUTCOME_BLOCKED);
  EXPECT_EQ(secret.server().connections(), 0U);
}

TEST_F(CollectorRuns, PicturesAreLookedForOncePerPageAndTenAtATime) {
  test::FakeWeb slow(20'000, std::chrono::milliseconds(30));
  test::FakeNaver naver(40, slow.address());
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  Allow(slow.address());
  Start();
  v1::Source source = Naver("pictures");
  source.set_skip_images(false);
  replica_->Create(source);
  const v1::Run run = replica_->Runs("pictures", 1)[0];
  EXPECT_EQ(run.new_items(), 40);
  EXPECT_EQ(run.fetched_pages(), 40);
  EXPECT_EQ(run.found_images(), 20);
  EXPECT_LE(slow.server().most_at_once(), 10U);
  EXPECT_GE(slow.server().most_at_once(), 2U);
  std::set<std::string> paths;
  for (const test::FakeRequest& request : slow.server().requests()) paths.insert(request.path);
  EXPECT_EQ(paths.size(), slow.server().requests().size());
  EXPECT_EQ(replica_->RunNow("pictures").fetched_pages(), 0);
  v1::ListItemsRequest list;
  int with = 0;
  const v1::ListItemsResponse listed = replica_->Call(&Stub::ListItems, list);
  for (const v1::Item& item : listed.items()) {
    if (item.image_url().empty()) continue;
    ++with;
    EXPECT_THAT(item.image_url(), HasSubstr(".jpg?a=1&b=2"));
  }
  EXPECT_EQ(with, 20);
}

TEST_F(CollectorRuns, AreWatchedOnceEachAndResumed) {
  Start();
  const auto open = [&](grpc::ClientContext& context, const std::string& token) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::WatchRunsRequest request;
    request.set_source_id("feed");
    request.set_resume_token(token);
    return replica_->stub().WatchRuns(&context, request);
  };
  std::vector<std::string> seen;
  std::string token;
  {
    grpc::ClientContext context;
    const auto reader = open(context, "");
    v1::WatchRunsResponse response;
    ASSERT_TRUE(reader->Read(&response));
    EXPECT_FALSE(response.has_run());
    replica_->Create(Feed("other", web_.server().Url("/feed")));
    replica_->Create(Feed("feed", web_.server().Url("/feed")));
    ASSERT_TRUE(reader->Read(&response));
    EXPECT_EQ(response.run().source_id(), "feed");
    seen.push_back(response.run().id());
    token = response.resume_token();
    context.TryCancel();
    reader->Finish();
  }
  const std::string second = replica_->RunNow("feed").id();
  grpc::ClientContext context;
  const auto reader = open(context, token);
  v1::WatchRunsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.run().id(), second);
  EXPECT_NE(second, seen[0]);
  context.TryCancel();
  reader->Finish();
  // One that is none, and one of a history that is gone.
  test::BeginNewHistory();
  // UNAVAILABLE until the server has connected again.
  for (const std::string& bad : {std::string("x"), token}) {
    EXPECT_TRUE(test::Eventually([&] {
      grpc::ClientContext other;
      const auto refused = open(other, bad);
      return !refused->Read(&response) &&
             refused->Finish().error_code() == grpc::StatusCode::INVALID_ARGUMENT;
    }));
  }
}

TEST_F(CollectorRuns, ACredentialThatIsNotConfiguredIsAnErrorOfTheRun) {
  Start();
  replica_->Create(Naver("none", "other"));
  const v1::Run run = replica_->Runs("none", 1)[0];
  EXPECT_EQ(run.outcome(), v1::RUN_OUTCOME_AUTH);
  EXPECT_THAT(run.code(), HasSubstr("credential"));
}

TEST_F(CollectorRuns, OfThreeReplicasOneRunsTheSourcesAndIsReplaced) {
  test::FakeNaver naver(3);
  AddCredential("naver", naver.server().Url("/v1/search/news.json"));
  Start();
  const auto leads = [](Replica& replica) {
    return replica.platform().metrics().Render().find("\nwinnow_collector_leads 1") !=
           std::string::npos;
  };
  ASSERT_TRUE(test::Eventually([&] { return leads(*replica_); }));
  Replica second(url_, config_);
  Replica third(url_, config_);
  for (int i = 0; i < 5; ++i) replica_->Create(Naver("s" + std::to_string(i)));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(second.Runs("s" + std::to_string(i), 1).size(), 1U);
  EXPECT_EQ(naver.server().requests().size(), 5U);
  EXPECT_TRUE(leads(*replica_));
  EXPECT_FALSE(leads(second) || leads(third));
  replica_->Stop();
  EXPECT_TRUE(test::Eventually([&] { return leads(second) != leads(third); }));
  EXPECT_EQ(second.RunNow("s0").outcome(), v1::RUN_OUTCOME_OK);
  EXPECT_EQ(second.ItemCount(), 3);
}

}  // namespace
}  // namespace winnow::collector
