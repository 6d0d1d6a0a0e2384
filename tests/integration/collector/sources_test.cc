#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/collector/quota/quota_store.h"
#include "services/collector/service.h"
#include "services/collector/sources/source_store.h"
#include "services/platform/base/uuid.h"
#include "services/platform/config/config.h"
#include "tests/support/collector/collector.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/process/test_platform.h"
#include "winnow/collector/v1/collector_service.grpc.pb.h"

namespace winnow::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Stub = v1::CollectorService::Stub;
using EndedRun = Run;  // a fixture has a Run of its own

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

std::vector<std::string> FieldsOf(const grpc::Status& status) {
  std::vector<std::string> fields;
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& detail : details.details()) {
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

// Sources are kept and changed; nothing runs them here.
class CollectorSources : public ::testing::Test {
 protected:
  CollectorSources() : platform_(test::NewCollectorDatabase()) {
    config::v1::Collector& collector = *platform_.config().mutable_collector();
    collector.set_no_schedule(true);
    config::v1::Credential& naver = *collector.add_credentials();
    naver.set_name("naver");
    naver.set_vendor("naver");
    naver.set_id_file(WriteFile("id"));
    naver.set_key_file(WriteFile("key"));
    FillDefaults(platform_.config(), {.cpus = 2});
    platform_.Serve({MakeCollectorTarget(platform_.parts())});
    stub_ = v1::CollectorService::NewStub(platform_.channel());
  }
  ~CollectorSources() override {
    stub_.reset();
    platform_.Stop();
  }

  std::string WriteFile(const std::string& name) {
    const std::string path = dir_.path() + "/" + name;
    std::ofstream(path) << "a-" << name << "\n";
    return path;
  }

  template <class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return (stub_.get()->*method)(&context, request, &response);
  }

  static v1::Source Feed(const std::string& id) {
    v1::Source source;
    source.set_id(id);
    source.mutable_feed()->set_url("https://" + id + ".example/rss");
    return source;
  }
  grpc::Status Create(const v1::Source& source, v1::Source* created = nullptr) {
    v1::CreateSourceRequest request;
    *request.mutable_source() = source;
    v1::CreateSourceResponse response;
    const grpc::Status status = Call(&Stub::CreateSource, request, response);
    if (created != nullptr) *created = response.source();
    return status;
  }
  grpc::Status Update(const v1::Source& source, const std::vector<std::string>& paths,
                      v1::Source* updated = nullptr) {
    v1::UpdateSourceRequest request;
    *request.mutable_source() = source;
    for (const std::string& path : paths) request.mutable_update_mask()->add_paths(path);
    v1::UpdateSourceResponse response;
    const grpc::Status status = Call(&Stub::UpdateSource, request, response);
    if (updated != nullptr) *updated = response.source();
    return status;
  }

  test::TempDir dir_{"collector"};
  test::TestPlatform platform_;
  std::unique_ptr<Stub> stub_;
};

TEST_F(CollectorSources, AreCreatedOnceAndReadBack) {
  v1::Source created;
  ASSERT_TRUE(Create(Feed("a"), &created).ok());
  EXPECT_EQ(created.interval().seconds(), 300);
  EXPECT_EQ(created.state(), v1::SOURCE_STATE_ACTIVE);
  EXPECT_TRUE(created.has_next_run_time());
  EXPECT_TRUE(Create(Feed("a")).ok());  // the same again
  v1::Source other = Feed("a");
  other.set_display_name("other");
  EXPECT_EQ(Create(other).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  v1::GetSourceRequest request;
  request.set_id("a");
  v1::GetSourceResponse response;
  ASSERT_TRUE(Call(&Stub::GetSource, request, response).ok());
  EXPECT_EQ(response.source().SerializeAsString(), created.SerializeAsString());
  request.set_id("nobody");
  EXPECT_EQ(Call(&Stub::GetSource, request, response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CollectorSources, AreRefusedWithAllReasons) {
  v1::Source bad;
  bad.set_id("Bad Id");
  bad.mutable_naver()->set_page_size(1'000);
  bad.mutable_interval()->set_seconds(-1);
  EXPECT_THAT(FieldsOf(Create(bad)),
              ::testing::IsSupersetOf({"source.id", "source.naver.query", "source.naver.page_size",
                                       "source.naver.credential", "source.interval"}));
  v1::Source wrong;
  wrong.set_id("wrong");
  wrong.mutable_newsdata()->set_credential("naver");
  EXPECT_THAT(FieldsOf(Create(wrong)), ElementsAre("source.newsdata.credential"));
  v1::CreateSourceResponse response;
  EXPECT_THAT(FieldsOf(Call(&Stub::CreateSource, {}, response)), ElementsAre("source"));
}

TEST_F(CollectorSources, AreUpdatedByMaskAndEtag) {
  v1::Source created;
  ASSERT_TRUE(Create(Feed("a"), &created).ok());
  v1::Source change = Feed("a");
  change.set_etag(created.etag());
  change.set_display_name("A feed");
  change.mutable_interval()->set_seconds(600);
  v1::Source updated;
  ASSERT_TRUE(Update(change, {"display_name", "interval"}, &updated).ok());
  EXPECT_EQ(updated.display_name(), "A feed");
  EXPECT_EQ(updated.interval().seconds(), 600);
  EXPECT_NE(updated.etag(), created.etag());
  EXPECT_EQ(Update(change, {"display_name"}).error_code(), grpc::StatusCode::ABORTED);
  change.clear_etag();
  EXPECT_THAT(FieldsOf(Update(change, {"state"})), ElementsAre("update_mask"));
  EXPECT_THAT(FieldsOf(Update(change, {})), ElementsAre("update_mask"));
  change.mutable_naver()->set_query("q");
  EXPECT_THAT(FieldsOf(Update(change, {"naver"})), ElementsAre("update_mask"));
  EXPECT_THAT(FieldsOf(Update(change, {"feed"})), ElementsAre("source.feed"));
  EXPECT_EQ(Update(Feed("b"), {"display_name"}).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CollectorSources, AnIntervalThatIsFixedIsUpdatedAlone) {
  v1::Source source;
  source.set_id("n");
  source.mutable_naver()->set_credential("naver");
  source.mutable_naver()->set_query("q");
  ASSERT_TRUE(Create(source).ok());
  source.mutable_interval()->set_seconds(900);
  v1::Source updated;
  ASSERT_TRUE(Update(source, {"interval"}, &updated).ok());
  EXPECT_EQ(updated.interval().seconds(), 900);
  EXPECT_EQ(updated.max_interval().seconds(), 900);
}

TEST_F(CollectorSources, ArePausedResumedAndAskedToRun) {
  ASSERT_TRUE(Create(Feed("a")).ok());
  v1::PauseSourceRequest pause;
  pause.set_id("a");
  v1::PauseSourceResponse paused;
  ASSERT_TRUE(Call(&Stub::PauseSource, pause, paused).ok());
  EXPECT_EQ(paused.source().state(), v1::SOURCE_STATE_PAUSED);
  v1::RunSourceRequest run;
  run.set_id("a");
  v1::RunSourceResponse asked;
  EXPECT_EQ(Call(&Stub::RunSource, run, asked).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::ResumeSourceRequest resume;
  resume.set_id("a");
  v1::ResumeSourceResponse resumed;
  ASSERT_TRUE(Call(&Stub::ResumeSource, resume, resumed).ok());
  EXPECT_EQ(resumed.source().state(), v1::SOURCE_STATE_ACTIVE);
  ASSERT_TRUE(Call(&Stub::RunSource, run, asked).ok());
  v1::RunSourceResponse again;
  ASSERT_TRUE(Call(&Stub::RunSource, run, again).ok());
  EXPECT_EQ(asked.run_id(), again.run_id());
  run.set_id("b");
  EXPECT_EQ(Call(&Stub::RunSource, run, asked).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(CollectorSources, AreListedByIdAndDeleted) {
  for (const char* id : {"c", "a", "b"}) ASSERT_TRUE(Create(Feed(id)).ok());
  std::vector<std::string> ids;
  v1::ListSourcesRequest request;
  request.set_page_size(2);
  v1::ListSourcesResponse response;
  do {
    ASSERT_TRUE(Call(&Stub::ListSources, request, response).ok());
    for (const v1::Source& source : response.sources()) ids.push_back(source.id());
    request.set_page_token(response.next_page_token());
  } while (!response.next_page_token().empty());
  EXPECT_THAT(ids, ElementsAre("a", "b", "c"));
  request.set_page_token("x");
  EXPECT_EQ(Call(&Stub::ListSources, request, response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::DeleteSourceRequest remove;
  remove.set_id("b");
  v1::DeleteSourceResponse removed;
  ASSERT_TRUE(Call(&Stub::DeleteSource, remove, removed).ok());
  EXPECT_TRUE(removed.deleted());
  ASSERT_TRUE(Call(&Stub::DeleteSource, remove, removed).ok());
  EXPECT_FALSE(removed.deleted());
}

TEST_F(CollectorSources, AnOpmlOfTwelveThousandFeedsIsImportedOnce) {
  std::string text = "<opml><body><outline text='Folder'>";
  for (int i = 0; i < 12'000; ++i) {
    text += "<outline text='f' xmlUrl='https://h" + std::to_string(i) + ".example/f'/>";
  }
  v1::ImportOpmlRequest request;
  request.set_opml(text + "<outline xmlUrl='mailto:x'/></outline></body></opml>");
  request.set_folders_as_categories(true);
  v1::ImportOpmlResponse response;
  const grpc::Status status = Call(&Stub::ImportOpml, request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.created_count(), 12'000);
  EXPECT_EQ(response.refused_count(), 1);
  ASSERT_EQ(response.refused_size(), 1);
  EXPECT_EQ(response.refused(0).url(), "mailto:x");
  EXPECT_THAT(response.refused(0).reason(), HasSubstr("http"));
  ASSERT_TRUE(Call(&Stub::ImportOpml, request, response).ok());
  EXPECT_EQ(response.created_count(), 0);
  EXPECT_EQ(response.known_count(), 12'000);
  v1::ListSourcesRequest list;
  list.set_page_size(1);
  v1::ListSourcesResponse listed;
  ASSERT_TRUE(Call(&Stub::ListSources, list, listed).ok());
  EXPECT_THAT(listed.sources(0).categories(), ElementsAre("Folder"));
  request.set_opml("<rss/>");
  request.set_namespace_("No");
  EXPECT_THAT(FieldsOf(Call(&Stub::ImportOpml, request, response)),
              UnorderedElementsAre("namespace", "opml"));
}

TEST_F(CollectorSources, TheLedgerIsTold) {
  QuotaStore quotas(platform_.parts().reads, platform_.parts().writes);
  const Time now = SystemClock().Now();
  ASSERT_TRUE(quotas
                  .Change(Soon(), "naver", 1,
                          [&](QuotaState& state) {
                            Reserve(state, {.per_day = 25'000, .reset = std::chrono::hours(15)},
                                    {now});
                            BlockUntil(state, now + std::chrono::hours(1), Outcome::kAuth);
                          })
                  .ok());
  v1::GetQuotaResponse response;
  ASSERT_TRUE(Call(&Stub::GetQuota, v1::GetQuotaRequest(), response).ok());
  ASSERT_EQ(response.quotas_size(), 1);
  EXPECT_EQ(response.quotas(0).credential(), "naver");
  EXPECT_EQ(response.quotas(0).day_limit(), 25'000);
  EXPECT_LE(response.quotas(0).day_used(), 1);
  EXPECT_EQ(response.quotas(0).blocked_by(), v1::RUN_OUTCOME_AUTH);
  // Another key is another chance.
  ASSERT_TRUE(quotas.Change(Soon(), "naver", 2, [](QuotaState&) {}).ok());
  ASSERT_TRUE(Call(&Stub::GetQuota, v1::GetQuotaRequest(), response).ok());
  EXPECT_FALSE(response.quotas(0).has_blocked_until());
  v1::GetQuotaRequest unknown;
  unknown.set_credential("other");
  EXPECT_EQ(Call(&Stub::GetQuota, unknown, response).error_code(), grpc::StatusCode::NOT_FOUND);
}

// The store's side of the schedule: who runs what, and what becomes of the dead.
class CollectorSchedule : public CollectorSources {
 protected:
  CollectorSchedule() : store_(platform_.parts().reads, platform_.parts().writes) {}
  static std::string NewId() { return NewUuidV7(SystemClock().Now()); }
  std::vector<Claim> ClaimAll(const std::string& holder, int most = 10) {
    std::vector<std::string> ids;
    for (int i = 0; i < most; ++i) ids.push_back(NewId());
    StatusOr<std::vector<Claim>> claims = store_.ClaimDue(Soon(), holder, ids);
    EXPECT_TRUE(claims.ok()) << claims.status();
    return claims.ok() ? *std::move(claims) : std::vector<Claim>();
  }
  bool Holds(const std::string& holder, std::chrono::milliseconds lease) {
    const auto held = store_.TakeLease(Soon(), holder, lease);
    EXPECT_TRUE(held.ok()) << held.status();
    return held.ok() && held->has_value();
  }
  static EndedRun RunOf(const Claim& claim, Outcome outcome) {
    EndedRun run;
    run.id = claim.source.run_id;
    run.source_id = claim.source.id;
    run.ns = claim.source.ns;
    run.kind = claim.source.kind;
    run.outcome = outcome;
    run.begin_time = claim.begin_time;
    run.end_time = claim.begin_time;
    return run;
  }
  SourceStore store_;
};

TEST_F(CollectorSchedule, OneProcessHoldsTheLeaseAndADeadOneIsReplaced) {
  const std::string a = NewId();
  const std::string b = NewId();
  ASSERT_TRUE(Create(Feed("f")).ok());
  EXPECT_TRUE(Holds(a, std::chrono::minutes(1)));
  EXPECT_TRUE(Holds(a, std::chrono::minutes(1)));
  EXPECT_FALSE(Holds(b, std::chrono::minutes(1)));
  EXPECT_TRUE(ClaimAll(b).empty());  // no lease, no source
  ASSERT_EQ(ClaimAll(a).size(), 1U);
  EXPECT_TRUE(ClaimAll(a).empty());  // it runs already
  ASSERT_TRUE(store_.ReleaseLease(Soon(), a).ok());
  EXPECT_TRUE(Holds(b, std::chrono::minutes(1)));
  const auto lost = store_.EndLostRuns(Soon(), b);
  ASSERT_TRUE(lost.ok()) << lost.status();
  EXPECT_EQ(*lost, 1);
  EXPECT_EQ(ClaimAll(b).size(), 1U);
  const auto runs = store_.ListRuns(Soon(), {});
  ASSERT_TRUE(runs.ok());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->front().outcome, Outcome::kPartial);
}

TEST_F(CollectorSchedule, AnEndedRunIsToldAndTheNextOneIsPlanned) {
  const std::string a = NewId();
  ASSERT_TRUE(Create(Feed("f")).ok());
  ASSERT_TRUE(Holds(a, std::chrono::minutes(1)));
  const std::vector<Claim> claims = ClaimAll(a);
  ASSERT_EQ(claims.size(), 1U);
  const EndedRun run = RunOf(claims[0], Outcome::kOk);
  Source source = claims[0].source;
  source.feed_etag = "\"1\"";
  const auto ended = store_.EndRun(
      Soon(), source, run,
      {.wait = std::chrono::seconds(900), .interval = std::chrono::seconds(450), .failures = 0});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(*ended);
  const auto again = store_.EndRun(Soon(), source, run, {});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(*again);
  const auto kept = store_.Get(Soon(), "f");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->feed_etag, "\"1\"");
  EXPECT_EQ(kept->current_interval, std::chrono::seconds(450));
  EXPECT_TRUE(kept->success_time);
  EXPECT_TRUE(ClaimAll(a).empty());  // its time has not come
  v1::ListRunsRequest request;
  request.set_source_id("f");
  v1::ListRunsResponse response;
  ASSERT_TRUE(Call(&Stub::ListRuns, request, response).ok());
  ASSERT_EQ(response.runs_size(), 1);
  EXPECT_EQ(response.runs(0).outcome(), v1::RUN_OUTCOME_OK);
}

TEST_F(CollectorSchedule, ARunThatWasAskedForHasItsId) {
  const std::string a = NewId();
  ASSERT_TRUE(Create(Feed("f")).ok());
  const auto asked = store_.RequestRun(Soon(), "f", NewId(), "");
  ASSERT_TRUE(asked.ok());
  ASSERT_TRUE(Holds(a, std::chrono::minutes(1)));
  const std::vector<Claim> claims = ClaimAll(a);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_TRUE(claims[0].requested);
  EXPECT_EQ(claims[0].source.run_id, *asked);
}

TEST_F(CollectorSchedule, WhatIsRefusedForGoodIsBlockedUntilItIsResumed) {
  const std::string a = NewId();
  ASSERT_TRUE(Create(Feed("f")).ok());
  ASSERT_TRUE(Holds(a, std::chrono::minutes(1)));
  const std::vector<Claim> claims = ClaimAll(a);
  ASSERT_EQ(claims.size(), 1U);
  ASSERT_TRUE(store_
                  .EndRun(Soon(), claims[0].source, RunOf(claims[0], Outcome::kBlocked),
                          {.interval = std::chrono::seconds(300), .failures = 1, .blocked = true})
                  .ok());
  EXPECT_EQ(store_.Get(Soon(), "f")->state, SourceState::kBlocked);
  EXPECT_TRUE(ClaimAll(a).empty());
  v1::ResumeSourceRequest resume;
  resume.set_id("f");
  v1::ResumeSourceResponse resumed;
  ASSERT_TRUE(Call(&Stub::ResumeSource, resume, resumed).ok());
  EXPECT_EQ(ClaimAll(a).size(), 1U);
}

}  // namespace
}  // namespace winnow::collector
