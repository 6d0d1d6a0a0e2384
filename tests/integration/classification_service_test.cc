#include <grpcpp/grpcpp.h>

#include "services/classification/service.h"
#include "tests/integration/classification_fixture.h"
#include "tests/support/test_platform.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::classification {
namespace {

using testing::ElementsAre;

TEST_F(ClassificationRunTest, ClassifiesAVideoAndReadsItInEveryWay) {
  const auto imported = Import(Comments(30));
  EXPECT_EQ(imported.shape(), v1::COMMENT_SHAPE_FLAT);
  EXPECT_EQ(imported.created(), 30);
  EXPECT_EQ(Count().unclassified(), 30);
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_UNSPECIFIED);

  const v1::Run run = Classify();
  EXPECT_TRUE(run.is_active());
  EXPECT_EQ(run.classified_count(), 30);
  EXPECT_EQ(run.policy(), "default@1");
  EXPECT_EQ(Count().normal() + Count().filtered() + Count().content_suggestion(), 30);
  EXPECT_EQ(Read("c1").status(), v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  EXPECT_EQ(Read("c2").status(), v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c2").run_id(), run.id());
  EXPECT_EQ(Read("c2").decided_by(), "embedded-1");

  for (const auto order :
       {v1::CLASSIFICATION_ORDER_NEWEST, v1::CLASSIFICATION_ORDER_HIGHEST_SCORE}) {
    v1::ListClassificationsRequest list;
    list.set_video_id("v");
    list.set_status(v1::COMMENT_STATUS_CONTENT_SUGGESTION);
    list.set_order(order);
    list.set_page_size(4);
    std::vector<std::string> ids;
    float last = 2;
    do {
      const auto page = Do(&Handlers::ListClassifications, list);
      for (const v1::Classification& one : page.classifications()) {
        ids.push_back(one.comment_id());
        if (order == v1::CLASSIFICATION_ORDER_HIGHEST_SCORE) {
          EXPECT_LE(one.score(), last);
          last = one.score();
        }
      }
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty() && !HasFailure());
    EXPECT_EQ(ids.size(), static_cast<size_t>(Count().content_suggestion()));
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  }
  ExpectCountsHold();
}

TEST_F(ClassificationRunTest, ActivatesARunByItselfWhenAsked) {
  Import(Comments(5));
  const v1::Run run = Start("embedded", true);
  EXPECT_TRUE(test::Eventually([&] { return Get(run.id()).is_active(); }));
}

TEST_F(ClassificationTest, ImportsAgainWithoutChangeAndTellsEdits) {
  Import(Comments(3));
  EXPECT_EQ(Import(Comments(3)).unchanged(), 3);
  const auto edited = Import(R"([{"id":"c0","text":"edited","updatedAt":"2030-01-01T00:00:00Z"},
                                 {"id":"c9","text":"x"},{"id":"c9","text":"y"}])");
  EXPECT_EQ(edited.updated(), 1);
  EXPECT_EQ(edited.created(), 1);
  EXPECT_EQ(edited.duplicates(), 1);
  EXPECT_EQ(Count().unclassified(), 4);
}

TEST_F(ClassificationTest, ReadsAFileThatComesInParts) {
  const std::string raw = Comments(2500);
  v1::ImportCommentsRequest request;
  request.set_video_id("v");
  request.set_upload_id("u1");
  for (int part : {0, 2}) {
    request.set_part(part);
    request.set_has_more(part == 0);
    request.set_raw(part == 0 ? raw.substr(0, 1000) : raw.substr(2000));
    const auto response = handlers_.ImportComments(Call(), request);
    EXPECT_EQ(response.ok(), part == 0) << response.status();
  }
  request.set_part(1);
  request.set_has_more(true);
  request.set_raw(raw.substr(1000, 1000));
  Do(&Handlers::ImportComments, request);
  request.set_part(2);
  request.set_has_more(false);
  request.set_raw(raw.substr(2000));
  EXPECT_EQ(Do(&Handlers::ImportComments, request).created(), 2500);
}

TEST_F(ClassificationTest, KnowsARepliesAliasUnlessItIsAmbiguous) {
  Import(R"([{"id":"A.r1","text":"x"},{"id":"A.same","text":"x"},{"id":"B.same","text":"x"}])");
  EXPECT_EQ(Read("r1").comment_id(), "A.r1");
  v1::GetClassificationRequest request;
  request.set_video_id("v");
  request.set_comment_id("same");
  EXPECT_EQ(handlers_.GetClassification(Call(), request).status().code(),
            StatusCode::kFailedPrecondition);
  request.set_comment_id("nobody");
  EXPECT_EQ(handlers_.GetClassification(Call(), request).status().code(), StatusCode::kNotFound);
}

TEST_F(ClassificationRunTest, TellsVerdictsOfEditedCommentsAsStale) {
  Import(Comments(3));
  Classify();
  Import(R"([{"id":"c0","text":"edited"}])");
  EXPECT_TRUE(Read("c0").is_stale());
  EXPECT_FALSE(Read("c1").is_stale());
}

TEST_F(ClassificationTest, TakesVerdictsOfAnAgentOnce) {
  Import(Comments(4));
  const v1::Run run = Start("external");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  request.set_lists(
      R"({"normal":["c0","c1","nobody"],"filtered":["c2","c0"],"content_suggestion":[]})");
  auto response = Ingest(request);
  EXPECT_EQ(response.written(), 3);
  EXPECT_EQ(response.missing_count(), 1);
  ASSERT_EQ(response.refused_size(), 2);
  EXPECT_EQ(response.refused(0).comment_id(), "nobody");
  EXPECT_EQ(response.refused(1).comment_id(), "c0");
  response = Ingest(request);
  EXPECT_EQ(response.written(), 0);
  EXPECT_EQ(response.already_known(), 3);
  EXPECT_EQ(Get(run.id()).state(), v1::RUN_STATE_RUNNING);

  v1::ActivateRunRequest activate;
  activate.set_run_id(run.id());
  EXPECT_EQ(handlers_.ActivateRun(Call(), activate).status().code(),
            StatusCode::kFailedPrecondition);
  request.clear_lists();
  v1::Verdict& failed = *request.add_verdicts();
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

TEST_F(ClassificationTest, ActivatesARunWithFailuresWhereThePolicyAllowsThem) {
  v1::UpdatePolicyRequest update;
  v1::GetPolicyRequest get;
  *update.mutable_policy() = Do(&Handlers::GetPolicy, get).policy();
  update.mutable_policy()->set_max_failed_share(0.5);
  EXPECT_EQ(Do(&Handlers::UpdatePolicy, update).policy().version(), 2);
  EXPECT_EQ(handlers_.UpdatePolicy(Call(), update).status().code(), StatusCode::kAborted);
  Import(Comments(2));
  const v1::Run run = Start("external");
  EXPECT_EQ(run.policy(), "default@2");
  v1::IngestVerdictsRequest request;
  request.set_run_id(run.id());
  for (int i = 0; i < 2; ++i) {
    v1::Verdict& verdict = *request.add_verdicts();
    verdict.set_comment_id("c" + std::to_string(i));
    if (i == 0) verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
    if (i == 1) verdict.set_status(v1::COMMENT_STATUS_NORMAL);
  }
  Ingest(request);
  EXPECT_TRUE(Activate(run.id()).is_active());
  EXPECT_EQ(Count().unclassified(), 1);
  EXPECT_EQ(Read("c0").failure(), v1::FAILURE_KIND_SCHEMA);
}

TEST_F(ClassificationTest, AnOverrideStandsAboveEveryRunAndTellsConflicts) {
  Import(Comments(4));
  Override("c0", v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c0").source(), v1::VERDICT_SOURCE_OVERRIDE) << "also before any run";
  EXPECT_EQ(Count().filtered(), 1);
  const v1::Run first = ExternalRun(4, v1::COMMENT_STATUS_NORMAL);
  Activate(first.id());
  EXPECT_EQ(Count().filtered(), 1);
  EXPECT_EQ(Count().normal(), 3);
  v1::ListOverrideConflictsRequest conflicts;
  conflicts.set_video_id("v");
  auto listed = Do(&Handlers::ListOverrideConflicts, conflicts);
  ASSERT_EQ(listed.conflicts_size(), 1);
  EXPECT_EQ(listed.conflicts(0).overridden_status(), v1::COMMENT_STATUS_NORMAL);
  const v1::Run second = ExternalRun(4, v1::COMMENT_STATUS_FILTERED);
  Activate(second.id());
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c0").decided_by(), "mina");
  EXPECT_EQ(Do(&Handlers::ListOverrideConflicts, conflicts).conflicts_size(), 0);

  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_comment_id("c0");
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 1);
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 0);
  EXPECT_EQ(Read("c0").source(), v1::VERDICT_SOURCE_EXTERNAL);
  ExpectCountsHold();
}

TEST_F(ClassificationTest, OverridesInBulkTogetherAndBack) {
  Import(Comments(6));
  Activate(ExternalRun(6, v1::COMMENT_STATUS_NORMAL).id());
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.set_status(v1::COMMENT_STATUS_FILTERED);
  for (const char* id : {"c0", "c1", "c2", "nobody"}) bulk.add_comment_ids(id);
  EXPECT_EQ(handlers_.BulkOverrideClassifications(Call(), bulk).status().code(),
            StatusCode::kNotFound);
  EXPECT_EQ(Count().filtered(), 0) << "all or none";
  bulk.mutable_comment_ids()->RemoveLast();
  bulk.set_dry_run(true);
  auto result = Do(&Handlers::BulkOverrideClassifications, bulk);
  EXPECT_EQ(result.changed_count(), 3);
  EXPECT_EQ(Count().filtered(), 0);
  bulk.set_dry_run(false);
  result = Do(&Handlers::BulkOverrideClassifications, bulk);
  EXPECT_EQ(Count().filtered(), 3);
  Override("c0", v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_bulk_id(result.bulk_id());
  EXPECT_EQ(Do(&Handlers::UndoOverride, undo).undone_count(), 2) << "c0 was changed since";
  EXPECT_EQ(Count().content_suggestion(), 1);
  EXPECT_EQ(Count().normal(), 5);
  ExpectCountsHold();
}

TEST_F(ClassificationTest, SwapsAndRollsBack) {
  Import(Comments(5));
  v1::RollbackRunRequest back;
  back.set_video_id("v");
  EXPECT_EQ(handlers_.RollbackRun(Call(), back).status().code(), StatusCode::kFailedPrecondition);
  const v1::Run first = ExternalRun(5, v1::COMMENT_STATUS_NORMAL);
  Activate(first.id());
  const v1::Run second = ExternalRun(5, v1::COMMENT_STATUS_FILTERED);
  Activate(second.id());
  EXPECT_EQ(Count().filtered(), 5);
  EXPECT_EQ(Do(&Handlers::RollbackRun, back).run().id(), first.id());
  EXPECT_EQ(Count().normal(), 5);

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

TEST_F(ClassificationTest, AnswersAppealsOnce) {
  Import(Comments(2));
  Activate(ExternalRun(2, v1::COMMENT_STATUS_FILTERED).id());
  v1::CreateAppealRequest create;
  create.set_video_id("v");
  create.set_comment_id("c0");
  create.set_note("this is praise");
  create.set_request_id("r1");
  const v1::Appeal appeal = Do(&Handlers::CreateAppeal, create).appeal();
  EXPECT_EQ(Do(&Handlers::CreateAppeal, create).appeal().id(), appeal.id());
  v1::ResolveAppealRequest resolve;
  resolve.set_appeal_id(appeal.id());
  resolve.set_grant(true);
  resolve.set_status(v1::COMMENT_STATUS_NORMAL);
  EXPECT_TRUE(Do(&Handlers::ResolveAppeal, resolve).appeal().is_granted());
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_NORMAL);
  EXPECT_EQ(handlers_.ResolveAppeal(Call(), resolve).status().code(),
            StatusCode::kFailedPrecondition);
  v1::ListAuditEntriesRequest audit;
  audit.set_video_id("v");
  std::vector<std::string> actions;
  const auto listed = Do(&Handlers::ListAuditEntries, audit);
  for (const v1::AuditEntry& entry : listed.entries()) actions.push_back(entry.action());
  EXPECT_THAT(actions, ElementsAre("appeal_granted", "appeal", "activate"));
  ExpectCountsHold();
}

TEST_F(ClassificationTest, PreviewsAPolicyWithoutChangingAnything) {
  Import(Comments(9));
  v1::PreviewPolicyRequest preview;
  preview.set_video_id("v");
  preview.mutable_policy()->set_name("strict");
  v1::TextRule& rule = *preview.mutable_policy()->add_text_rules();
  rule.set_contains("캠핑");
  rule.set_status(v1::COMMENT_STATUS_FILTERED);
  const auto previewed = Do(&Handlers::PreviewPolicy, preview);
  EXPECT_EQ(previewed.counts().filtered(), 3);
  EXPECT_EQ(previewed.counts().normal(), 6);
  EXPECT_EQ(Count().unclassified(), 9);
}

TEST_F(ClassificationTest, ExplainsTexts) {
  v1::ClassifyTextsRequest request;
  request.add_texts("다음에는 캠핑 영상도 올려주세요");
  request.add_texts("");
  request.set_explain(3);
  const auto response = Do(&Handlers::ClassifyTexts, request);
  ASSERT_EQ(response.verdicts_size(), 2);
  EXPECT_EQ(response.verdicts(0).status(), v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  EXPECT_EQ(response.verdicts(0).ngrams_size(), 3);
  EXPECT_EQ(response.verdicts(0).scores_size(), 6);
  request.set_explain(21);
  request.clear_texts();
  EXPECT_EQ(ViolationsOf(handlers_.ClassifyTexts(Call(), request).status()).size(), 2u);
}

TEST_F(ClassificationRunTest, ExpiryDeletesEverythingOfAVideo) {
  Import(Comments(10));
  Classify();
  Override("c0", v1::COMMENT_STATUS_NORMAL);
  clock_.Advance(std::chrono::days(31));
  const auto expired = store_.ExpiredVideos(Soon(), 10);
  ASSERT_TRUE(expired.ok());
  ASSERT_EQ(expired->size(), 1u);
  v1::DeleteVideoRequest request;
  request.set_video_id("v");
  EXPECT_EQ(Do(&Handlers::DeleteVideo, request).comment_count(), 10);
  for (const char* table : {"videos", "raw_parts", "comments", "runs", "verdicts", "overrides"}) {
    EXPECT_EQ(Number(std::string("SELECT count(*) FROM classification.") + table), 0) << table;
  }
  EXPECT_EQ(Number("SELECT count(*) FROM classification.audit_entries"), 1);
  EXPECT_EQ(handlers_.DeleteVideo(Call(), request).status().code(), StatusCode::kNotFound);
}

TEST_F(ClassificationTest, ARunWhoseWorkerDiedIsFinishedByAnotherFromItsResidue) {
  Import(Comments(20));
  const v1::Run run = Start();
  const std::vector<std::string> names = {"embedded"};
  const auto lease = store_.LeaseRun(Soon(), "dead", names);
  ASSERT_TRUE(lease.ok() && *lease);
  const auto residue = store_.ReadResidue(Soon(), **lease, 0, 5);
  ASSERT_TRUE(residue.ok());
  std::vector<CommentOutcome> outcomes;
  for (const Comment& comment : *residue) {
    outcomes.push_back({comment.number,
                        comment.content_hash,
                        {CommentStatus::kNormal, Failure::kNone, Source::kFallback, 1, ""}});
  }
  ASSERT_TRUE(store_.WriteOutcomes(Soon(), **lease, outcomes).ok());
  EXPECT_FALSE(*store_.LeaseRun(Soon(), "other", names)) << "it is held";
  Number(
      "WITH x AS (UPDATE classification.runs SET lease_until = now() - interval '1 second' "
      "RETURNING 1) SELECT count(*) FROM x");
  worker_.Start();
  const v1::Run ended = AwaitComplete(run.id());
  worker_.Stop();
  EXPECT_EQ(ended.classified_count(), 20);
  EXPECT_EQ(Number("SELECT count(*) FROM classification.verdicts WHERE source = 3"), 5)
      << "nothing is classified twice";
  EXPECT_EQ(store_.WriteOutcomes(Soon(), **lease, outcomes).status().code(),
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
  EXPECT_TRUE(Ingest(request).has_error());
}

TEST_F(ClassificationTest, StartingWithTheSameRequestIdAnswersTheSameRun) {
  Import(Comments(1));
  v1::StartRunRequest request;
  request.set_video_id("v");
  request.set_classifier("external");
  request.set_request_id("once");
  const int64_t run = Do(&Handlers::StartRun, request).run().id();
  EXPECT_EQ(Do(&Handlers::StartRun, request).run().id(), run);
  request.set_classifier("llm");
  EXPECT_EQ(handlers_.StartRun(Call(), request).status().code(), StatusCode::kFailedPrecondition);
  request.set_classifier("magic");
  EXPECT_EQ(handlers_.StartRun(Call(), request).status().code(), StatusCode::kInvalidArgument);
}

class ClassificationGrpcTest : public ClassificationTest {};

TEST_F(ClassificationGrpcTest, StreamsRunsChangesAndExports) {
  test::TestPlatform platform(url_);
  std::vector<rpc::Target> targets;
  targets.push_back(MakeClassificationTarget(platform.parts()));
  platform.Serve(std::move(targets));
  auto stub = v1::ClassificationService::NewStub(platform.channel());
  const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(60);

  grpc::ClientContext watch_context;
  watch_context.set_deadline(deadline);
  v1::WatchClassificationsRequest watch_request;
  auto changes = stub->WatchClassifications(&watch_context, watch_request);
  v1::WatchClassificationsResponse change;
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_FALSE(change.has_change());

  {
    grpc::ClientContext context;
    v1::ImportCommentsRequest request;
    request.set_video_id("v");
    request.set_raw(Comments(1200));
    v1::ImportCommentsResponse response;
    const grpc::Status status = stub->ImportComments(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  v1::StartRunResponse started;
  {
    grpc::ClientContext context;
    v1::StartRunRequest request;
    request.set_video_id("v");
    request.set_activate(true);
    ASSERT_TRUE(stub->StartRun(&context, request, &started).ok());
  }
  {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    v1::WatchRunRequest request;
    request.set_run_id(started.run().id());
    auto runs = stub->WatchRun(&context, request);
    v1::WatchRunResponse response;
    while (runs->Read(&response)) continue;
    EXPECT_TRUE(runs->Finish().ok());
    EXPECT_EQ(response.run().state(), v1::RUN_STATE_COMPLETE);
    EXPECT_TRUE(response.run().is_active());
  }
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_EQ(change.change().action(), "activate");
  watch_context.TryCancel();
  EXPECT_FALSE(changes->Finish().ok());

  int lines = 0;
  std::string token;
  for (bool done = false; !done;) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    v1::ExportClassificationsRequest request;
    request.set_video_id("v");
    request.set_resume_token(token);
    auto exported = stub->ExportClassifications(&context, request);
    v1::ExportClassificationsResponse response;
    while (exported->Read(&response)) {
      for (const char c : response.ndjson()) lines += c == '\n';
      token = response.resume_token();
      done = response.done();
    }
    ASSERT_TRUE(exported->Finish().ok());
  }
  EXPECT_EQ(lines, 1200);
  stub.reset();
  platform.Stop();
}

}  // namespace
}  // namespace winnow::classification
