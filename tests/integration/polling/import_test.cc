#include "services/platform/grpc/errors/error_exit.h"
#include "services/platform/proto/timestamp.h"
#include "services/polling/service.h"
#include "tests/integration/polling/fixture.h"
#include "tests/support/process/test_platform.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

// ImportJobs over gRPC, and what the store makes of it.
namespace winnow::polling {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;
using testing::SizeIs;

class PollingImportTest : public PollingTest {
 protected:
  JobToImport Old(const std::string& id, minutes age, const std::string& state = "processing") {
    return {id, state, now_ - age, ""};
  }
  std::vector<StatusOr<ImportResult>> Import(const std::vector<JobToImport>& jobs,
                                             bool dry_run = false) {
    auto imported = store_.Import(Soon(), "stt", jobs, {"ann", "moved in", ""}, dry_run);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return imported.ok() ? *std::move(imported) : std::vector<StatusOr<ImportResult>>();
  }
};

TEST_F(PollingImportTest, WhatIsHereIsLeftAsItIsInEveryPhase) {
  Register("leased");
  const std::vector<Job> claimed = Claim("w1");
  ASSERT_THAT(claimed, SizeIs(1));
  Register("waiting");
  const auto done = store_.Do(Soon(), {"stt", "waiting"}, command::Bury{"odd", "ann"}, "");
  ASSERT_TRUE(done.ok()) << done.status();
  const Job leased = Get("leased"), buried = Get("waiting");
  const auto imported = Import({Old("leased", minutes(5), "summarizing"),
                                Old("waiting", minutes(5)), Old("new", minutes(5))});
  ASSERT_THAT(imported, SizeIs(3));
  EXPECT_FALSE(imported[0]->created);
  EXPECT_EQ(imported[0]->state, "processing");
  EXPECT_EQ(imported[0]->phase, Phase::kLeased);
  EXPECT_EQ(imported[1]->phase, Phase::kBuried);
  EXPECT_TRUE(imported[2]->created);
  EXPECT_EQ(Get("leased"), leased);
  EXPECT_EQ(Get("waiting"), buried);
  EXPECT_FALSE(Import({Old("new", minutes(50))})[0]->created) << "sent again";
  EXPECT_EQ(Get("new").state_time, now_ - minutes(5));
  EXPECT_EQ(Number("SELECT count(*) FROM polling.job_events WHERE id = 'new'"), 1);
}

TEST_F(PollingImportTest, ADryRunWritesNothing) {
  Register("here");
  const int64_t events = Number("SELECT count(*) FROM polling.job_events");
  const auto imported = Import(
      {Old("here", minutes(5)), Old("new", minutes(5)), Old("odd", minutes(5), "nowhere")}, true);
  ASSERT_THAT(imported, SizeIs(3));
  EXPECT_FALSE(imported[0]->created);
  EXPECT_TRUE(imported[1]->created);
  EXPECT_EQ(imported[2].status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.jobs"), 1);
  EXPECT_EQ(Number("SELECT count(*) FROM polling.job_events"), events);
}

TEST_F(PollingImportTest, TheDeadlineGoesOnWhereItWas) {
  ASSERT_THAT(Import({Old("fresh", minutes(2)), Old("old", minutes(59)), Old("over", minutes(61))}),
              SizeIs(3));
  auto swept = store_.Sweep(Soon(), "stt", SweepClock::kDeadline, 100);
  ASSERT_TRUE(swept.ok()) << swept.status();
  ASSERT_THAT(*swept, SizeIs(1));
  EXPECT_EQ((*swept)[0].id, "over");
  EXPECT_EQ(Number("SELECT count(*) FROM polling.outbox"), 1) << "nothing vanishes";
  Pass(minutes(1));
  swept = store_.Sweep(Soon(), "stt", SweepClock::kDeadline, 100);
  ASSERT_TRUE(swept.ok()) << swept.status();
  ASSERT_THAT(*swept, SizeIs(1));
  EXPECT_EQ((*swept)[0].id, "old");
  ASSERT_THAT(Claim("w1"), SizeIs(1));
  EXPECT_EQ(Get("fresh").phase, Phase::kLeased);
}

TEST_F(PollingImportTest, TheViewShowsTheTimeOfEntryThatWasImported) {
  ASSERT_THAT(Import({Old("a", minutes(2)), Old("b", minutes(3), "summarizing")}), SizeIs(2));
  const auto shown = store_.ReadShownPage(Soon(), "stt", "", 100);
  ASSERT_TRUE(shown.ok()) << shown.status();
  const auto ms = [&](minutes age) { return ((now_ - age).time_since_epoch().count()) / 1000; };
  EXPECT_EQ(shown->at("a"), (ShownJob{"processing", ms(minutes(2))}));
  EXPECT_EQ(shown->at("b"), (ShownJob{"summarizing", ms(minutes(3))}));
}

TEST_F(PollingImportTest, AnUnknownKindIsNotFound) {
  const JobToImport job = Old("a", minutes(1));
  EXPECT_EQ(store_.Import(Soon(), "none", {&job, 1}, {}, false).status().code(),
            StatusCode::kNotFound);
}

class PollingImportRpcTest : public PollingTest {
 protected:
  void SetUp() override {
    platform_.Serve({MakePollingTarget(platform_.parts())}, false);
    stub_ = v1::PollingRegistryService::NewStub(platform_.channel());
    request_.set_kind("stt");
    request_.set_actor("ann");
    request_.set_note("moved in");
  }
  void TearDown() override {
    stub_.reset();
    platform_.Stop();
  }
  v1::InFlightJob& Add(const std::string& id, minutes age = minutes(5)) {
    v1::InFlightJob& job = *request_.add_jobs();
    job.set_id(id);
    job.set_state("processing");
    *job.mutable_state_time() = ToTimestamp(SystemClock().Now() - age);
    return job;
  }
  grpc::Status Import() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return stub_->ImportJobs(&context, request_, &response_);
  }
  std::vector<std::string> FieldsOf(const grpc::Status& status) {
    std::vector<std::string> fields;
    for (const Violation& one : ViolationsOf(rpc::FromGrpcStatus(status, "polling"))) {
      fields.push_back(one.field);
    }
    return fields;
  }

  test::TestPlatform platform_{url_};
  std::unique_ptr<v1::PollingRegistryService::Stub> stub_;
  v1::ImportJobsRequest request_;
  v1::ImportJobsResponse response_;
};

TEST_F(PollingImportRpcTest, EachJobMayFailAlone) {
  Add("1");
  Add("bad id");
  Add("2").clear_state_time();
  Add("3", minutes(60 * 24 * 366));
  Add("4", minutes(-10));
  Add("5").set_state("nowhere");
  Add("6").set_payload(std::string(size_t{65} << 10, 'x'));
  Add("7").set_payload("audio");
  const grpc::Status status = Import();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_THAT(response_.results(), SizeIs(8));
  for (const int i : {0, 7}) {
    EXPECT_TRUE(response_.results(i).created()) << i;
    EXPECT_EQ(response_.results(i).state(), "processing");
    EXPECT_EQ(response_.results(i).phase(), v1::JOB_PHASE_WAITING);
  }
  for (const int i : {1, 2, 3, 4, 5, 6}) {
    EXPECT_EQ(response_.results(i).error().code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
  }
  const std::string page = platform_.metrics().Render();
  EXPECT_THAT(page, HasSubstr(R"(winnow_polling_imported_total{kind="stt",outcome="created"} 2)"));
  EXPECT_THAT(page, HasSubstr(R"(winnow_polling_imported_total{kind="stt",outcome="refused"} 6)"));
  const Job stored = Get("7");
  EXPECT_EQ(stored.payload, "audio");
  const auto events = store_.ListEvents(Soon(), {"stt", "7"}, 0, 10);
  ASSERT_TRUE(events.ok() && events->size() == 1) << events.status();
  EXPECT_EQ((*events)[0].event.actor, "ann");
  EXPECT_EQ((*events)[0].event.note, "moved in");
}

TEST_F(PollingImportRpcTest, NamesWhatIsWrongWithABatch) {
  EXPECT_EQ(FieldsOf(Import()), std::vector<std::string>{"jobs"});
  Add("1");
  Add("1");
  request_.set_kind("No Kind");
  request_.set_note(std::string(1001, 'x'));
  EXPECT_THAT(FieldsOf(Import()), testing::UnorderedElementsAre("kind", "note", "jobs"));
  request_.set_kind("stt");
  request_.clear_note();
  request_.clear_jobs();
  for (int i = 0; i <= 1000; ++i) Add(std::to_string(i));
  EXPECT_EQ(FieldsOf(Import()), std::vector<std::string>{"jobs"});
  request_.mutable_jobs()->RemoveLast();
  EXPECT_TRUE(Import().ok());
  request_.set_kind("none");
  EXPECT_EQ(Import().error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace winnow::polling
