#include <random>

#include "tests/integration/classification/fixture.h"

// Runs: how they begin, go on, are delivered into, swapped and left.
namespace winnow::classification {
namespace {

TEST_F(ClassificationRunTest, ActivatesARunByItselfWhenAsked) {
  Import(Comments(5));
  const v1::Run run = Start("embedded", true);
  EXPECT_TRUE(test::Eventually([&] { return Get(run.id()).active(); }));
}

TEST_F(ClassificationTest, TakesVerdictsOfAnAgentOnce) {
  Import(Comments(4));
  const v1::Run run = Start("external");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(
      R"({"normal":["c0","c1","nobody"],"filtered":["c2","c0"],"content_suggestion":[]})");
  auto response = Ingest(request);
  EXPECT_EQ(response.written_count(), 3);
  EXPECT_EQ(response.missing_count(), 1);
  EXPECT_EQ(response.refused_count(), 2);
  ASSERT_EQ(response.refused_size(), 2);
  EXPECT_EQ(response.refused(0).comment_id(), "nobody");
  EXPECT_EQ(response.refused(1).comment_id(), "c0");
  response = Ingest(request);
  EXPECT_EQ(response.written_count(), 0);
  EXPECT_EQ(response.known_count(), 3);
  EXPECT_EQ(Get(run.id()).state(), v1::RUN_STATE_RUNNING);

  v1::ActivateRunRequest activate;
  activate.set_run_id(run.id());
  EXPECT_EQ(handlers_.ActivateRun(Call(), activate).status().code(),
            StatusCode::kFailedPrecondition);
  v1::Verdict& failed = *request.mutable_verdicts()->add_verdicts();
  failed.set_comment_id("c3");
  failed.set_failure(v1::FAILURE_KIND_REFUSED);
  EXPECT_EQ(Ingest(request).missing_count(), 0);
  EXPECT_EQ(Get(run.id()).state(), v1::RUN_STATE_COMPLETE);
  EXPECT_EQ(Get(run.id()).failed_count(), 1);
  EXPECT_EQ(handlers_.ActivateRun(Call(), activate).status().code(),
            StatusCode::kFailedPrecondition)
      << "the policy allows no failures";
  ExpectCountsHold();
}

// Messages into `runs`, of which the first and second half are twins.
std::vector<v1::IngestVerdictsRequest> AnyMessages(const std::vector<v1::Run>& runs,
                                                   std::mt19937& random) {
  const auto below = [&](size_t bound) { return random() % bound; };
  std::vector<v1::IngestVerdictsRequest> messages(60);
  size_t run = 0;
  for (v1::IngestVerdictsRequest& message : messages) {
    if (below(4) == 0) run = below(runs.size());
    message.set_run_id(below(20) == 0 ? "12345" : runs[run].id());
    for (size_t i = 0, n = below(12); i < n; ++i) {
      v1::Verdict& verdict = *message.mutable_verdicts()->add_verdicts();
      verdict.set_comment_id((below(20) == 0 ? "nobody" : "c") + std::to_string(below(45)));
      verdict.set_status(static_cast<v1::CommentStatus>(below(50) == 0 ? 9 : 1 + below(3)));
      if (below(6) > 0) continue;
      verdict.clear_status();
      verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
    }
  }
  return messages;
}

TEST_F(ClassificationTest, AStreamIsAnsweredAsItsMessagesOneByOne) {
  Import(Comments(40));
  const std::vector<v1::Run> runs = {Start("external"), Start("external")};
  const std::vector<v1::Run> twins = {Start("external"), Start("external")};
  Import(Comments(5, 40));  // no part of them
  std::mt19937 random(5);
  const auto messages = AnyMessages(runs, random);
  const auto together = handlers_.IngestVerdicts(Call(), messages);
  ASSERT_TRUE(together.ok()) << together.status();
  ASSERT_EQ(together->size(), messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    v1::IngestVerdictsRequest twin = messages[i];
    for (size_t run = 0; run < runs.size(); ++run) {
      if (twin.run_id() == runs[run].id()) twin.set_run_id(twins[run].id());
    }
    v1::IngestVerdictsResponse alone = Deliver(twin);
    v1::IngestVerdictsResponse answer = (*together)[i];
    ASSERT_EQ(answer.has_error(), alone.has_error()) << answer.DebugString();
    EXPECT_EQ(answer.error().code(), alone.error().code());
    // The run's entry comes after those of its transaction.
    EXPECT_LE(answer.ingested().missing_count(), alone.ingested().missing_count());
    answer.mutable_ingested()->clear_missing_count();
    alone.mutable_ingested()->clear_missing_count();
    EXPECT_EQ(answer.ingested().DebugString(), alone.ingested().DebugString()) << i;
  }
  for (size_t run = 0; run < runs.size(); ++run) {
    EXPECT_EQ(Get(runs[run].id()).counts().DebugString(),
              Get(twins[run].id()).counts().DebugString());
    EXPECT_EQ(Get(runs[run].id()).failed_count(), Get(twins[run].id()).failed_count());
    const std::string rows =
        "(SELECT comment, status, resolved, failure, content_hash FROM classification.verdicts "
        "WHERE run = ";
    EXPECT_EQ(Number("SELECT count(*) FROM (" + rows + runs[run].id() + ") EXCEPT " + rows +
                     twins[run].id() + ")) AS other"),
              0);
  }
  ExpectCountsHold();
}

TEST_F(ClassificationTest, RowsOfARunGoWithIt) {
  Import(Comments(3));
  ExternalRun(3, v1::COMMENT_STATUS_NORMAL);
  Override("c0", v1::COMMENT_STATUS_FILTERED);
  v1::DeleteVideoRequest request;
  request.set_video_id("v");
  Do(&Handlers::DeleteVideo, request);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts"), 0);
  Import(Comments(1));
  for (int i = 0; i < 14; ++i) ExternalRun(1, v1::COMMENT_STATUS_NORMAL);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts"),
            Number("SELECT count(*) FROM classification.runs WHERE classifier <> ''"));
  EXPECT_LT(Number("SELECT count(*) FROM classification.runs"), 14);
}

TEST_F(ClassificationTest, ActivatesARunWithFailuresWhereThePolicyAllowsThem) {
  v1::UpdatePolicyRequest update;
  update.mutable_policy()->set_max_failed_share(0.5);
  update.mutable_update_mask()->add_paths("max_failed_share");
  EXPECT_EQ(Do(&Handlers::UpdatePolicy, update).policy().version(), 2);
  Import(Comments(2));
  const v1::Run run = Start("external");
  EXPECT_EQ(run.policy_version(), 2);
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  for (int i = 0; i < 2; ++i) {
    v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
    verdict.set_comment_id("c" + std::to_string(i));
    if (i == 0) verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
    if (i == 1) verdict.set_status(v1::COMMENT_STATUS_NORMAL);
  }
  Ingest(request);
  EXPECT_TRUE(Activate(run.id()).active());
  EXPECT_EQ(Count().unclassified(), 1);
  EXPECT_EQ(Read("c0").failure(), v1::FAILURE_KIND_SCHEMA);
}

TEST_F(ClassificationTest, SwapsAndRollsBack) {
  Import(Comments(5));
  const v1::Run first = ExternalRun(5, v1::COMMENT_STATUS_NORMAL);
  Activate(first.id());
  v1::RollbackRunRequest back;
  back.set_run_id(first.id());
  EXPECT_EQ(handlers_.RollbackRun(Call(), back).status().code(), StatusCode::kFailedPrecondition)
      << "nothing was before it";
  const v1::Run second = ExternalRun(5, v1::COMMENT_STATUS_FILTERED);
  Activate(second.id());
  EXPECT_EQ(Count().filtered(), 5);
  EXPECT_EQ(handlers_.RollbackRun(Call(), back).status().code(), StatusCode::kFailedPrecondition)
      << "another one is active";
  back.set_run_id(second.id());
  back.set_request_id("once");
  EXPECT_EQ(Do(&Handlers::RollbackRun, back).run().id(), first.id());
  EXPECT_EQ(Do(&Handlers::RollbackRun, back).run().id(), first.id()) << "sent again";
  EXPECT_EQ(Count().normal(), 5);
  back.clear_request_id();
  EXPECT_EQ(handlers_.RollbackRun(Call(), back).status().code(), StatusCode::kFailedPrecondition)
      << "it never flips";
  Activate(second.id());
  EXPECT_EQ(Do(&Handlers::RollbackRun, back).run().id(), first.id()) << "without a request id";
  EXPECT_EQ(Count().normal(), 5);
  EXPECT_EQ(handlers_.RollbackRun(Call(), back).status().code(), StatusCode::kFailedPrecondition);

  v1::CompareRunsRequest compare;
  compare.set_run_id(second.id());
  compare.set_base_run_id(first.id());
  compare.set_page_size(3);
  auto compared = Do(&Handlers::CompareRuns, compare);
  ASSERT_EQ(compared.matrix_size(), 1);
  EXPECT_EQ(compared.matrix(0).count(), 5);
  EXPECT_EQ(compared.changes_size(), 3);
  compare.set_page_token(compared.next_page_token());
  EXPECT_EQ(Do(&Handlers::CompareRuns, compare).changes_size(), 2);
}

TEST_F(ClassificationTest, ARunWhoseWorkerDiedIsFinishedByAnotherFromItsResidue) {
  Import(Comments(20));
  const v1::Run run = Start();
  const std::vector<std::string> names = {"embedded"};
  const auto lease = stores_.leases.LeaseRun(Soon(), "dead", names);
  ASSERT_TRUE(lease.ok() && *lease);
  const auto pending = stores_.leases.ReadPending(Soon(), **lease, 0, 5);
  ASSERT_TRUE(pending.ok());
  std::vector<CommentOutcome> outcomes;
  for (const Comment& comment : *pending) {
    outcomes.push_back({comment.number,
                        comment.content_hash,
                        {CommentStatus::kNormal, Failure::kNone, Source::kFallback, 1, ""}});
  }
  ASSERT_TRUE(stores_.leases.WriteOutcomes(Soon(), **lease, outcomes).ok());
  EXPECT_FALSE(*stores_.leases.LeaseRun(Soon(), "other", names)) << "it is held";
  Number(
      "WITH x AS (UPDATE classification.runs SET lease_until = now() - interval '1 second' "
      "RETURNING 1) SELECT count(*) FROM x");
  worker_.Start();
  const v1::Run ended = AwaitComplete(run.id());
  worker_.Stop();
  EXPECT_EQ(ended.classified_count(), 20);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts WHERE source = 3"), 5)
      << "nothing is classified twice";
  EXPECT_EQ(stores_.leases.WriteOutcomes(Soon(), **lease, outcomes).status().code(),
            StatusCode::kFailedPrecondition)
      << "the dead one comes back too late";
  ExpectCountsHold();
}

TEST_F(ClassificationTest, CancelledRunsTakeNothingMore) {
  Import(Comments(3));
  const v1::Run run = Start("external");
  v1::CancelRunRequest cancel;
  cancel.set_run_id(run.id());
  EXPECT_EQ(Do(&Handlers::CancelRun, cancel).run().state(), v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Do(&Handlers::CancelRun, cancel).run().state(), v1::RUN_STATE_CANCELLED);
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(R"({"normal":["c0"]})");
  EXPECT_TRUE(Deliver(request).has_error());
}

TEST_F(ClassificationTest, StartingWithTheSameRequestIdAnswersTheSameRun) {
  Import(Comments(1));
  v1::StartRunRequest request;
  request.set_video_id("v");
  request.set_classifier("external");
  request.set_request_id("once");
  const std::string run = Do(&Handlers::StartRun, request).run().id();
  EXPECT_EQ(Do(&Handlers::StartRun, request).run().id(), run);
  request.set_activate(true);
  const Status other = handlers_.StartRun(Call(), request).status();
  ASSERT_EQ(other.code(), StatusCode::kInvalidArgument) << "it asks for something else";
  EXPECT_EQ(ViolationsOf(other)[0].field, "request_id");
  request.set_classifier("llm");
  EXPECT_EQ(handlers_.StartRun(Call(), request).status().code(), StatusCode::kFailedPrecondition);
  request.set_classifier("magic");
  EXPECT_EQ(handlers_.StartRun(Call(), request).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ClassificationTest, RequestIdsAreOfANamespaceAndForgottenWithTheirVideo) {
  Import(Comments(1));
  v1::StartRunRequest request;
  request.set_video_id("v");
  request.set_classifier("external");
  request.set_request_id("once");
  const std::string run = Do(&Handlers::StartRun, request).run().id();
  v1::ImportCommentsRequest import;
  import.set_namespace_("other");
  import.set_video_id("v");
  import.set_raw(Comments(1));
  Do(&Handlers::ImportComments, import);
  request.set_namespace_("other");
  const std::string other = Do(&Handlers::StartRun, request).run().id();
  EXPECT_NE(other, run);
  v1::GetRunRequest get;
  get.set_run_id(other);
  EXPECT_EQ(handlers_.GetRun(Call(), get).status().code(), StatusCode::kNotFound);
  get.set_namespace_("other");
  EXPECT_EQ(Do(&Handlers::GetRun, get).run().id(), other);
  for (const char* id : {"x", "01", "-1", "99999999999999999999", "1 "}) {
    get.set_run_id(id);
    EXPECT_EQ(handlers_.GetRun(Call(), get).status().code(), StatusCode::kNotFound) << id;
  }
  v1::DeleteVideoRequest drop;
  drop.set_video_id("v");
  Do(&Handlers::DeleteVideo, drop);
  Import(Comments(1));
  request.clear_namespace_();
  EXPECT_NE(Do(&Handlers::StartRun, request).run().id(), run);
  clock_.Advance(std::chrono::days(31));
  EXPECT_EQ(*stores_.requests.SweepRequests(Soon(), 1), 1);
  EXPECT_EQ(*stores_.requests.SweepRequests(Soon(), 10), 1);
}

TEST_F(ClassificationTest, TooManyUnfinishedRunsAreAMatterOfTime) {
  Import(Comments(1));
  for (int i = 0; i < 10; ++i) Start("external");
  v1::StartRunRequest request;
  request.set_video_id("v");
  request.set_request_id("eleventh");
  const Status full = handlers_.StartRun(Call(), request).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(RetryAfterOf(full).has_value());
}

TEST_F(ClassificationTest, GoesOnWithAPausedRunAndAnotherBudget) {
  Import(Comments(3));
  const v1::Run run = Start();
  const std::vector<std::string> names = {"embedded"};
  const auto lease = stores_.leases.LeaseRun(Soon(), "t", names);
  ASSERT_TRUE(lease.ok() && *lease);
  const auto reserved = stores_.leases.ReserveCost(Soon(), **lease, 500);
  ASSERT_TRUE(stores_.leases.WriteOutcomes(Soon(), **lease, {}, {*reserved, 1, 500}).ok());
  ASSERT_TRUE(stores_.leases.PauseRun(Soon(), **lease, Failure::kBudget).ok());
  v1::ResumeRunRequest resume;
  resume.set_run_id(run.id());
  resume.set_budget_micros(500);
  const Status spent = handlers_.ResumeRun(Call(), resume).status();
  ASSERT_EQ(spent.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ViolationsOf(spent)[0].field, "budget_micros");
  EXPECT_EQ(Get(run.id()).state(), v1::RUN_STATE_PAUSED);
  resume.set_budget_micros(501);
  EXPECT_EQ(Do(&Handlers::ResumeRun, resume).run().state(), v1::RUN_STATE_PENDING);
  resume.clear_budget_micros();
  EXPECT_EQ(Do(&Handlers::ResumeRun, resume).run().budget_micros(), 501);
  worker_.Start();
  AwaitComplete(run.id());
  worker_.Stop();
  EXPECT_EQ(handlers_.ResumeRun(Call(), resume).status().code(), StatusCode::kFailedPrecondition);
}

// What changes for readers of an active run is in the audit, and comments outside of it are
// reported.
TEST_F(ClassificationTest, VerdictsDeliveredIntoTheActiveRunAreAudited) {
  Import(Comments(3));
  const v1::Run run = ExternalRun(3, v1::COMMENT_STATUS_NORMAL);
  Activate(run.id());
  Override("c1", v1::COMMENT_STATUS_NORMAL);
  Import(R"([{"id":"c0","text":"edited"},{"id":"c1","text":"edited"},{"id":"new","text":"x"}])");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(R"({"filtered":["c0","c1","c2","new","c0"]})");
  const auto response = Ingest(request);
  EXPECT_EQ(response.written_count(), 2);
  EXPECT_EQ(response.known_count(), 1);
  EXPECT_EQ(response.ignored_count(), 1);
  EXPECT_EQ(response.repeated_count(), 1);
  EXPECT_EQ(response.refused_count(), 0);
  v1::ListAuditEntriesRequest audit;
  audit.set_video_id("v");
  audit.set_page_size(1);
  const auto newest = Do(&Handlers::ListAuditEntries, audit).entries(0);
  EXPECT_EQ(newest.action(), "ingest");
  EXPECT_EQ(newest.comment_id(), "c0");
  EXPECT_EQ(newest.before() + ">" + newest.after(), "normal>filtered");
  EXPECT_EQ(Number("SELECT count(*) FROM classification.audit_entries WHERE action = 'ingest'"), 1);
  ExpectCountsHold();
}

}  // namespace
}  // namespace winnow::classification
