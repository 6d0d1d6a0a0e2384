#include "services/polling/service.h"

#include <future>

#include "services/platform/grpc/errors/error_exit.h"
#include "services/polling/api/convert.h"
#include "tests/integration/polling/fixture.h"
#include "tests/support/process/test_platform.h"
#include "winnow/polling/v1/polling_service.grpc.pb.h"

// The registry as callers see it, over gRPC.
namespace winnow::polling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

#define WINNOW_CALL(Name)                                                     \
  grpc::Status Name(const v1::Name##Request& request, v1::Name##Response& to, \
                    std::chrono::seconds limit = std::chrono::seconds(60)) {  \
    grpc::ClientContext context;                                              \
    context.set_deadline(std::chrono::system_clock::now() + limit);           \
    return stub_->Name(&context, request, &to);                               \
  }

class PollingServiceTest : public PollingTest {
 protected:
  void SetUp() override {
    // By the database's clock.
    platform_.Serve({MakePollingTarget(platform_.parts())}, false);
    stub_ = v1::PollingRegistryService::NewStub(platform_.channel());
  }
  void TearDown() override {
    stub_.reset();
    platform_.Stop();
  }

  WINNOW_CALL(RegisterJob)
  WINNOW_CALL(BatchRegisterJobs)
  WINNOW_CALL(ClaimJobs)
  WINNOW_CALL(HeartbeatJobs)
  WINNOW_CALL(TransitionJob)
  WINNOW_CALL(RescheduleJob)
  WINNOW_CALL(CompleteJob)
  WINNOW_CALL(FailJob)
  WINNOW_CALL(CancelJob)
  WINNOW_CALL(ReportProgress)
  WINNOW_CALL(ReleaseJob)
  WINNOW_CALL(RequeueJob)
  WINNOW_CALL(BuryJob)
  WINNOW_CALL(GetJob)
  WINNOW_CALL(ListJobs)
  WINNOW_CALL(ListJobEvents)

  v1::Job Put(const std::string& id, const std::string& payload = "audio") {
    v1::RegisterJobRequest request;
    request.set_kind("stt");
    request.mutable_job()->set_id(id);
    request.mutable_job()->set_payload(payload);
    v1::RegisterJobResponse response;
    const grpc::Status status = RegisterJob(request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job();
  }
  v1::ClaimJobsResponse ClaimSome(int count, std::chrono::seconds wait = std::chrono::seconds(0)) {
    v1::ClaimJobsRequest request;
    request.set_kind("stt");
    request.set_owner("worker-1");
    request.set_max_jobs(count);
    request.mutable_wait()->set_seconds(wait.count());
    v1::ClaimJobsResponse response;
    const grpc::Status status = ClaimJobs(request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::Job ClaimOne() {
    const v1::ClaimJobsResponse response = ClaimSome(1);
    EXPECT_THAT(response.jobs(), SizeIs(1));
    return response.jobs_size() == 1 ? response.jobs(0) : v1::Job();
  }
  template <class Request>
  Request Of(const v1::Job& job) {
    Request request;
    request.set_kind("stt");
    request.set_id(job.id());
    if constexpr (requires { request.set_token(1); }) request.set_token(job.token());
    return request;
  }
  static Reason ReasonOf(const grpc::Status& status) {
    return winnow::ReasonOf(rpc::FromGrpcStatus(status, "polling"));
  }

  test::TestPlatform platform_{url_};
  std::unique_ptr<v1::PollingRegistryService::Stub> stub_;
};

TEST_F(PollingServiceTest, AJobGoesThroughItsStatesToItsEnd) {
  const v1::Job made = Put("123");
  EXPECT_EQ(made.state(), "processing");
  EXPECT_EQ(made.phase(), v1::JOB_PHASE_WAITING);
  v1::Job job = ClaimOne();
  EXPECT_EQ(job.payload(), "audio");
  EXPECT_EQ(job.owner(), "worker-1");

  v1::ReportProgressResponse progressed;
  auto progress = Of<v1::ReportProgressRequest>(job);
  progress.set_percent(40);
  EXPECT_TRUE(ReportProgress(progress, progressed).ok());
  EXPECT_EQ(progressed.job().percent(), 40);

  v1::TransitionJobResponse moved;
  auto transition = Of<v1::TransitionJobRequest>(job);
  transition.set_to_state("summarizing");
  transition.mutable_delay();
  EXPECT_TRUE(TransitionJob(transition, moved).ok());
  EXPECT_EQ(moved.job().phase(), v1::JOB_PHASE_WAITING);

  job = ClaimOne();
  EXPECT_EQ(job.state(), "summarizing");
  v1::CompleteJobResponse done;
  auto complete = Of<v1::CompleteJobRequest>(job);
  complete.set_result("summary");
  EXPECT_TRUE(CompleteJob(complete, done).ok());
  v1::GetJobResponse got;
  EXPECT_TRUE(GetJob(Of<v1::GetJobRequest>(job), got).ok());
  EXPECT_EQ(got.job().phase(), v1::JOB_PHASE_COMPLETED);
  EXPECT_EQ(got.job().result(), "summary");

  auto list = Of<v1::ListJobEventsRequest>(job);
  list.set_page_size(2);
  std::vector<v1::JobChange> changes;
  v1::ListJobEventsResponse events;
  do {
    EXPECT_TRUE(ListJobEvents(list, events).ok());
    for (const v1::JobEvent& event : events.events()) changes.push_back(event.change());
    list.set_page_token(events.next_page_token());
  } while (!events.next_page_token().empty());
  EXPECT_THAT(changes, ElementsAre(v1::JOB_CHANGE_REGISTERED, v1::JOB_CHANGE_TRANSITIONED,
                                   v1::JOB_CHANGE_COMPLETED));
}

TEST_F(PollingServiceTest, RegistersOnceAndRefusesAnotherPayload) {
  Put("1");
  v1::RegisterJobRequest request;
  request.set_kind("stt");
  request.mutable_job()->set_id("1");
  request.mutable_job()->set_payload("audio");
  v1::RegisterJobResponse response;
  EXPECT_TRUE(RegisterJob(request, response).ok());
  EXPECT_FALSE(response.created());
  request.mutable_job()->set_payload("other");
  EXPECT_EQ(RegisterJob(request, response).error_code(), grpc::StatusCode::ALREADY_EXISTS);

  v1::BatchRegisterJobsRequest batch;
  batch.set_kind("stt");
  for (const char* id : {"1", "2", "bad id", "3"}) batch.add_jobs()->set_id(id);
  batch.mutable_jobs(3)->set_state("nowhere");
  v1::BatchRegisterJobsResponse results;
  EXPECT_TRUE(BatchRegisterJobs(batch, results).ok());
  ASSERT_THAT(results.results(), SizeIs(4));
  EXPECT_EQ(results.results(0).error().code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(results.results(1).created());
  EXPECT_EQ(results.results(2).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(results.results(3).error().code(), grpc::StatusCode::INVALID_ARGUMENT);
  batch.add_jobs()->set_id("1");
  EXPECT_EQ(BatchRegisterJobs(batch, results).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(PollingServiceTest, AClaimWaitsForAJobWithoutAThread) {
  std::vector<std::future<v1::ClaimJobsResponse>> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(
        std::async(std::launch::async, [this] { return ClaimSome(1, std::chrono::seconds(30)); }));
  }
  for (int i = 0; i < 20; ++i) Put("j" + std::to_string(i));
  std::set<std::string> ids;
  for (auto& claim : waiting) {
    const v1::ClaimJobsResponse response = claim.get();
    ASSERT_THAT(response.jobs(), SizeIs(1));
    ids.insert(response.jobs(0).id());
  }
  EXPECT_THAT(ids, SizeIs(20));
}

TEST_F(PollingServiceTest, AClaimThatFindsNothingAnswersSoAtTheEndOfItsWait) {
  EXPECT_THAT(ClaimSome(1, std::chrono::seconds(1)).jobs(), IsEmpty());
  v1::ClaimJobsRequest request;
  request.set_kind("nobody");
  request.set_owner("w");
  v1::ClaimJobsResponse response;
  EXPECT_EQ(ClaimJobs(request, response).error_code(), grpc::StatusCode::NOT_FOUND);
  // Its caller's deadline ends the wait before.
  request.set_kind("stt");
  request.mutable_wait()->set_seconds(30);
  EXPECT_TRUE(ClaimJobs(request, response, std::chrono::seconds(1)).ok());
}

TEST_F(PollingServiceTest, ALostLeaseIsClaimedAgainAndItsWorkerRefusedOnEveryVerb) {
  Sql("UPDATE polling.policies SET lease_us = 1000000");
  Put("1");
  const v1::Job old = ClaimOne();
  const v1::ClaimJobsResponse again = ClaimSome(1, std::chrono::seconds(30));
  ASSERT_THAT(again.jobs(), SizeIs(1));
  EXPECT_GT(again.jobs(0).token(), old.token());
  EXPECT_EQ(again.jobs(0).losses(), 1);

#define WINNOW_EXPECT_REFUSED(Name, change)                                         \
  {                                                                                 \
    auto request = Of<v1::Name##Request>(old);                                      \
    change;                                                                         \
    v1::Name##Response response;                                                    \
    const grpc::Status status = Name(request, response);                            \
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << #Name; \
    EXPECT_EQ(ReasonOf(status), Reason::kStaleToken) << #Name;                      \
  }
  WINNOW_EXPECT_REFUSED(ReportProgress, request.set_percent(1))
  WINNOW_EXPECT_REFUSED(RescheduleJob, request.mutable_delay())
  WINNOW_EXPECT_REFUSED(TransitionJob, request.set_to_state("summarizing"))
  WINNOW_EXPECT_REFUSED(CompleteJob, request.set_result("x"))
  WINNOW_EXPECT_REFUSED(FailJob, request.set_error("x"))
  WINNOW_EXPECT_REFUSED(ReleaseJob, request.set_request_id("x"))
  WINNOW_EXPECT_REFUSED(CancelJob, request.set_note("x"))
#undef WINNOW_EXPECT_REFUSED
  v1::HeartbeatJobsRequest beat;
  beat.set_kind("stt");
  for (const v1::Job& job : {old, again.jobs(0)}) {
    v1::HeldJob& held = *beat.add_jobs();
    held.set_id(job.id());
    held.set_token(job.token());
  }
  v1::HeartbeatJobsResponse beats;
  EXPECT_TRUE(HeartbeatJobs(beat, beats).ok());
  EXPECT_TRUE(beats.results(0).lost());
  EXPECT_FALSE(beats.results(1).lost());
  EXPECT_EQ(Number("SELECT count(*) FROM polling.outbox "
                   "WHERE event = 'winnow.events.v1.JobStale'"),
            1);
}

TEST_F(PollingServiceTest, ACancelReachesTheWorkerByItsHeartbeat) {
  Put("1");
  const v1::Job job = ClaimOne();
  auto cancel = Of<v1::CancelJobRequest>(job);
  cancel.clear_token();
  cancel.set_note("no longer needed");
  v1::CancelJobResponse asked;
  EXPECT_TRUE(CancelJob(cancel, asked).ok());
  EXPECT_TRUE(asked.job().cancel_requested());
  v1::HeartbeatJobsRequest beat;
  beat.set_kind("stt");
  v1::HeldJob& held = *beat.add_jobs();
  held.set_id("1");
  held.set_token(job.token());
  v1::HeartbeatJobsResponse beats;
  EXPECT_TRUE(HeartbeatJobs(beat, beats).ok());
  EXPECT_TRUE(beats.results(0).cancel_requested());
  EXPECT_TRUE(CancelJob(Of<v1::CancelJobRequest>(job), asked).ok());
  EXPECT_EQ(asked.job().phase(), v1::JOB_PHASE_CANCELLED);
}

TEST_F(PollingServiceTest, CommandsSentAgainAreDoneOnce) {
  Put("1");
  const v1::Job job = ClaimOne();
  auto fail = Of<v1::FailJobRequest>(job);
  fail.set_error("503");
  fail.set_request_id("r1");
  v1::FailJobResponse failed;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(FailJob(fail, failed).ok());
    EXPECT_EQ(failed.job().failures(), 1);
  }
  v1::BuryJobResponse buried;
  auto bury = Of<v1::BuryJobRequest>(job);
  EXPECT_TRUE(BuryJob(bury, buried).ok());
  EXPECT_EQ(buried.job().phase(), v1::JOB_PHASE_BURIED);
  v1::RequeueJobResponse back;
  EXPECT_TRUE(RequeueJob(Of<v1::RequeueJobRequest>(job), back).ok());
  EXPECT_EQ(back.job().phase(), v1::JOB_PHASE_WAITING);
  EXPECT_EQ(back.job().failures(), 0);
}

TEST_F(PollingServiceTest, ListsByFilterPageByPage) {
  for (int i = 0; i < 7; ++i) Put("j" + std::to_string(i));
  ClaimSome(3);
  v1::ListJobsRequest request;
  request.set_kind("stt");
  request.set_page_size(2);
  request.set_phase(v1::JOB_PHASE_WAITING);
  std::vector<std::string> ids;
  v1::ListJobsResponse page;
  do {
    ASSERT_TRUE(ListJobs(request, page).ok());
    for (const v1::Job& job : page.jobs()) {
      EXPECT_TRUE(job.payload().empty());
      ids.push_back(job.id());
    }
    request.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  EXPECT_THAT(ids, ElementsAre("j3", "j4", "j5", "j6"));
  request.clear_page_token();
  request.clear_phase();
  request.set_page_size(0);
  request.set_owner("worker-1");
  ASSERT_TRUE(ListJobs(request, page).ok());
  EXPECT_THAT(page.jobs(), SizeIs(3));
  request.mutable_min_age()->set_seconds(3600);
  ASSERT_TRUE(ListJobs(request, page).ok());
  EXPECT_THAT(page.jobs(), IsEmpty());
}

TEST_F(PollingServiceTest, AWatchThatResumesMissesAndRepeatsNothing) {
  v1::WatchJobsRequest request;
  request.set_kind("stt");
  std::vector<std::string> ids;
  // Reads until `count` events came, then ends; the next one resumes.
  const auto read = [&](size_t count) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub_->WatchJobs(&context, request);
    v1::WatchJobsResponse response;
    while (stream->Read(&response)) {
      if (request.resume_token().empty()) Put("first");
      request.set_resume_token(response.resume_token());
      for (const v1::JobEvent& event : response.events()) ids.push_back(event.id());
      if (ids.size() >= count) break;
    }
    context.TryCancel();
    stream->Finish();
  };
  Put("before");
  ASSERT_TRUE(test::Eventually([&] {
    return Number("SELECT count(*) FROM polling.job_events WHERE position IS NULL") == 0;
  }));
  read(1);
  for (int i = 0; i < 5; ++i) Put("j" + std::to_string(i));
  read(4);
  read(6);
  EXPECT_THAT(ids, ElementsAre("first", "j0", "j1", "j2", "j3", "j4"));
  const auto refused = [&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub_->WatchJobs(&context, request);
    v1::WatchJobsResponse response;
    EXPECT_FALSE(stream->Read(&response));
    return ReasonOf(stream->Finish());
  };
  request.set_resume_token(ResumeToken({"stt", "", 1, "of a restored database"}));
  EXPECT_EQ(refused(), Reason::kInvalidPageToken);
  request.set_resume_token("nonsense");
  EXPECT_EQ(refused(), Reason::kInvalidPageToken);
  request.clear_resume_token();
  request.set_kind("nobody");
  EXPECT_EQ(refused(), Reason::kResourceNotFound);
}

TEST_F(PollingServiceTest, TellsAllThatIsWrongWithARequest) {
  v1::FailJobRequest request;
  request.set_kind("No Kind");
  request.set_id("");
  request.mutable_retry_after()->set_seconds(-1);
  v1::FailJobResponse response;
  const Status status = rpc::FromGrpcStatus(FailJob(request, response), "polling");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(status)) fields.push_back(violation.field);
  EXPECT_THAT(fields, testing::UnorderedElementsAre("kind", "id", "token", "error", "retry_after"));
}

}  // namespace
}  // namespace winnow::polling
