#include "services/classification/service.h"

#include <grpcpp/grpcpp.h>

#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"
#include "tests/integration/classification/fixture.h"
#include "tests/support/process/test_platform.h"
#include "winnow/classification/v1/classification_service.grpc.pb.h"

namespace winnow::classification {
namespace {

TEST_F(ClassificationRunTest, ClassifiesAVideoAndReadsItInEveryWay) {
  const auto imported = Import(Comments(30));
  EXPECT_EQ(imported.shape(), v1::COMMENT_SHAPE_FLAT);
  EXPECT_EQ(imported.created_count(), 30);
  EXPECT_EQ(Count().unclassified(), 30);
  EXPECT_EQ(Read("c0").status(), v1::COMMENT_STATUS_UNCLASSIFIED);
  EXPECT_FALSE(Read("c0").has_score());
  EXPECT_FALSE(Read("c0").has_decide_time());

  const v1::Run run = Classify();
  EXPECT_TRUE(run.active());
  EXPECT_EQ(run.classified_count(), 30);
  EXPECT_EQ(run.policy_name(), "default");
  EXPECT_EQ(run.policy_version(), 1);
  EXPECT_EQ(Count().normal() + Count().filtered() + Count().content_suggestion(), 30);
  EXPECT_EQ(Read("c1").status(), v1::COMMENT_STATUS_CONTENT_SUGGESTION);
  EXPECT_EQ(Read("c2").status(), v1::COMMENT_STATUS_FILTERED);
  EXPECT_EQ(Read("c2").run_id(), run.id());
  EXPECT_EQ(Read("c2").model(), "embedded-1");
  EXPECT_EQ(Read("c2").policy_version(), 1);
  EXPECT_GT(Read("c2").score(), 0);
  EXPECT_EQ(FromTimestamp(Read("c2").decide_time()).value(), clock_.Now());

  for (const auto order :
       {v1::CLASSIFICATION_ORDER_NEWEST, v1::CLASSIFICATION_ORDER_HIGHEST_SCORE}) {
    v1::ListClassificationsRequest list;
    list.set_video_id("v");
    list.set_status(v1::COMMENT_STATUS_CONTENT_SUGGESTION);
    list.set_order(order);
    list.set_page_size(4);
    std::vector<std::string> ids;
    double last = 2;
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

TEST_F(ClassificationTest, ListsWhatHasNoVerdict) {
  v1::UpdatePolicyRequest update;
  update.mutable_policy()->set_max_failed_share(1);
  update.mutable_update_mask()->add_paths("max_failed_share");
  Do(&Handlers::UpdatePolicy, update);
  Import(Comments(10'030));
  v1::ListClassificationsRequest list;
  list.set_video_id("v");
  list.set_status(v1::COMMENT_STATUS_UNCLASSIFIED);
  list.set_page_size(1000);
  const auto listed = [&] {
    std::set<std::string> ids;
    list.clear_page_token();
    do {
      const auto page = Do(&Handlers::ListClassifications, list);
      for (const v1::Classification& one : page.classifications()) {
        EXPECT_EQ(one.status(), v1::COMMENT_STATUS_UNCLASSIFIED);
        EXPECT_TRUE(ids.insert(one.comment_id()).second) << one.comment_id();
      }
      list.set_page_token(page.next_page_token());
    } while (!list.page_token().empty() && !HasFailure());
    return ids;
  };
  EXPECT_EQ(listed().size(), 10'030u) << "before any run";
  const v1::Run run = ExternalRun(10'000, v1::COMMENT_STATUS_NORMAL);
  v1::IngestVerdictsRequest failed;
  failed.set_run_id(run.id());
  for (int i = 10'000; i < 10'030; ++i) {
    v1::Verdict& verdict = *failed.mutable_verdicts()->add_verdicts();
    verdict.set_comment_id("c" + std::to_string(i));
    verdict.set_failure(v1::FAILURE_KIND_SCHEMA);
    if (i % 2 == 0) verdict.clear_failure();
    if (i % 2 == 0) verdict.set_status(v1::COMMENT_STATUS_FILTERED);
  }
  Ingest(failed);
  Activate(run.id());
  Import(Comments(1, 10'030));
  Override("c10001", v1::COMMENT_STATUS_NORMAL);
  const std::set<std::string> left = listed();
  EXPECT_EQ(static_cast<int64_t>(left.size()), Count().unclassified());
  EXPECT_EQ(left.size(), 15u);
  EXPECT_TRUE(left.contains("c10003"));
  EXPECT_TRUE(left.contains("c10030"));
  list.set_order(v1::CLASSIFICATION_ORDER_HIGHEST_SCORE);
  list.clear_page_token();
  EXPECT_EQ(handlers_.ListClassifications(Call(), list).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(ClassificationTest, ImportsAgainWithoutChangeAndTellsEdits) {
  Import(Comments(3));
  EXPECT_EQ(Import(Comments(3)).unchanged_count(), 3);
  const auto edited = Import(R"([{"id":"c0","text":"edited","updatedAt":"2030-01-01T00:00:00Z"},
                                 {"id":"c9","text":"x"},{"id":"c9","text":"y"}])");
  EXPECT_EQ(edited.updated_count(), 1);
  EXPECT_EQ(edited.created_count(), 1);
  EXPECT_EQ(edited.duplicate_count(), 1);
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
  EXPECT_EQ(Do(&Handlers::ImportComments, request).created_count(), 2500);
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
  EXPECT_TRUE(Read("c0").stale());
  EXPECT_FALSE(Read("c1").stale());
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
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.add_comment_ids("c0");
  bulk.set_status(v1::COMMENT_STATUS_FILTERED);
  bulk.set_request_id("once");
  Do(&Handlers::BulkOverrideClassifications, bulk);
  v1::CreateAppealRequest appeal;
  appeal.set_video_id("v");
  appeal.set_comment_id("c0");
  appeal.set_note("why?");
  appeal.set_request_id("once");
  Do(&Handlers::CreateAppeal, appeal);
  clock_.Advance(std::chrono::days(31));
  const auto expired = stores_.comments.ExpiredVideos(Soon(), 10);
  ASSERT_TRUE(expired.ok());
  ASSERT_EQ(expired->size(), 1u);
  v1::DeleteVideoRequest request;
  request.set_video_id("v");
  EXPECT_EQ(Do(&Handlers::DeleteVideo, request).comment_count(), 10);
  for (const char* table : {"videos", "raw_parts", "comments", "runs", "verdicts", "overrides",
                            "covered_overrides", "appeals", "requests"}) {
    EXPECT_EQ(Number(std::string("SELECT count(*) FROM classification.") + table), 0) << table;
  }
  EXPECT_EQ(Number("SELECT count(*) FROM classification.audit_entries"), 1);
  EXPECT_EQ(handlers_.DeleteVideo(Call(), request).status().code(), StatusCode::kNotFound);
}

class ClassificationGrpcTest : public ClassificationTest {
 protected:
  // Lines of a whole export, which may take several streams.
  static int CountExported(v1::ClassificationService::Stub& stub) {
    int lines = 0;
    std::string token;
    for (bool done = false; !done && !HasFailure();) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
      v1::ExportClassificationsRequest request;
      request.set_video_id("v");
      request.set_resume_token(token);
      auto exported = stub.ExportClassifications(&context, request);
      v1::ExportClassificationsResponse response;
      while (exported->Read(&response)) {
        for (const char c : response.ndjson()) lines += c == '\n';
        token = response.resume_token();
        done = response.done();
      }
      EXPECT_TRUE(exported->Finish().ok());
    }
    return lines;
  }

  // A token of another store causes a gap and continues from now; one of this store does not.
  void ExpectGapAfterAnotherHistory(v1::ClassificationService::Stub& stub,
                                    const std::string& token) {
    const uint64_t filter = Hash64("default/");
    auto parsed = PageTokenReader::Parse(token, 45, filter);
    ASSERT_TRUE(parsed.ok());
    const int64_t epoch = *parsed->ReadNumber();
    const int64_t writer = *parsed->ReadNumber();
    const std::string others[] = {
        PageTokenWriter(45, filter).Add(epoch + 1).Add(writer).Add(int64_t{0}).Finish(),
        PageTokenWriter(45, filter).Add(epoch).Add(writer + 1'000'000).Add(int64_t{0}).Finish()};
    for (const std::string& other : {token, others[0], others[1]}) {
      grpc::ClientContext context;
      v1::WatchClassificationsRequest request;
      request.set_resume_token(other);
      auto changes = stub.WatchClassifications(&context, request);
      v1::WatchClassificationsResponse first;
      ASSERT_TRUE(changes->Read(&first));
      EXPECT_EQ(first.has_gap(), other != token);
      if (other == token) {
        ASSERT_TRUE(changes->Read(&first));
        EXPECT_EQ(first.changed().comment_id(), "c0");
      }
      context.TryCancel();
      (void)changes->Finish();
    }
  }
};

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
  EXPECT_EQ(change.event_case(), v1::WatchClassificationsResponse::EVENT_NOT_SET);

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
    request.set_request_id("once");
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
    EXPECT_TRUE(response.run().active());
  }
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_EQ(change.activated().run_id(), started.run().id());
  const std::string after_swap = change.resume_token();
  {
    grpc::ClientContext context;
    v1::OverrideClassificationRequest request;
    request.set_video_id("v");
    request.set_comment_id("c0");
    request.set_status(v1::COMMENT_STATUS_FILTERED);
    v1::OverrideClassificationResponse response;
    ASSERT_TRUE(stub->OverrideClassification(&context, request, &response).ok());
  }
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_EQ(change.changed().comment_id(), "c0");
  EXPECT_EQ(change.changed().previous_status(), v1::COMMENT_STATUS_NORMAL);
  EXPECT_EQ(change.changed().status(), v1::COMMENT_STATUS_FILTERED);
  watch_context.TryCancel();
  EXPECT_FALSE(changes->Finish().ok());
  ExpectGapAfterAnotherHistory(*stub, after_swap);
  EXPECT_EQ(CountExported(*stub), 1200);
  stub.reset();
  platform.Stop();
}

}  // namespace
}  // namespace winnow::classification
