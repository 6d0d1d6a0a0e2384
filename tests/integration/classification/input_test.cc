#include "services/platform/base/text.h"
#include "tests/integration/classification/fixture.h"

// Bad input is refused by the name of its field, and costs no more than it may.
namespace winnow::classification {
namespace {

const std::string kNul("a\0b", 3);

std::vector<std::string> FieldsOf(const Status& status) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(status)) fields.push_back(violation.field);
  return fields;
}

class ClassificationInputTest : public ClassificationTest {
 protected:
  // The fields that the handler refuses.
  template <class Request, class Response>
  std::vector<std::string> Refused(StatusOr<Response> (Handlers::*handler)(const rpc::CallContext&,
                                                                           const Request&),
                                   const Request& request) {
    return FieldsOf((handlers_.*handler)(Call(), request).status());
  }
};

using testing::ElementsAre;

TEST_F(ClassificationInputTest, ClassifyTextsEndsWithItsCall) {
  v1::ClassifyTextsRequest request;
  for (int i = 0; i < 10; ++i) request.add_texts("hello");
  rpc::CallContext call = Call();
  int asked = 0;
  call.cancelled = [&] { return ++asked > 3; };
  EXPECT_EQ(handlers_.ClassifyTexts(call, request).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 4);
  call = Call();
  call.cancelled = [&] {
    call.deadline = std::chrono::steady_clock::now();
    return false;
  };
  EXPECT_EQ(handlers_.ClassifyTexts(call, request).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(ClassificationInputTest, PreviewPolicyEndsWithItsCall) {
  Import(Comments(9));
  v1::PreviewPolicyRequest request;
  request.set_video_id("v");
  request.mutable_policy()->set_name("default");
  request.mutable_update_mask()->add_paths("text_rules");
  rpc::CallContext call = Call();
  int asked = 0;
  call.cancelled = [&] { return ++asked > 3; };
  EXPECT_EQ(handlers_.PreviewPolicy(call, request).status().code(), StatusCode::kCancelled);
}

TEST_F(ClassificationInputTest, ClassifyTextsBoundsACall) {
  v1::ClassifyTextsRequest request;
  for (int i = 0; i < 20; ++i) request.add_texts(std::string(20'000, 'a'));
  EXPECT_EQ(Do(&Handlers::ClassifyTexts, request).verdicts_size(), 20);
  request.add_texts("b");
  EXPECT_THAT(Refused(&Handlers::ClassifyTexts, request), ElementsAre("texts"));
  request.clear_texts();
  request.add_texts(kNul);
  request.set_policy_name(kNul);
  EXPECT_THAT(Refused(&Handlers::ClassifyTexts, request), ElementsAre("texts[0]", "policy_name"));
}

TEST_F(ClassificationInputTest, PoliciesTakeKnownStatusesAndVersionsOnly) {
  v1::UpdatePolicyRequest request;
  v1::Policy& policy = *request.mutable_policy();
  policy.set_name("strict");
  request.set_allow_missing(true);
  request.mutable_update_mask()->add_paths("head_rules");
  request.mutable_update_mask()->add_paths("text_rules");
  v1::HeadRule& head = *policy.add_head_rules();
  head.set_head("spam");
  head.set_threshold(0.5);
  v1::TextRule& text = *policy.add_text_rules();
  text.set_contains("x");
  for (const int number : {-1, 4, 5, 0}) {
    head.set_status(static_cast<v1::CommentStatus>(number));
    text.set_status(static_cast<v1::CommentStatus>(number));
    EXPECT_THAT(Refused(&Handlers::UpdatePolicy, request),
                ElementsAre("policy.head_rules[0].status", "policy.text_rules[0].status"));
  }
  head.set_status(v1::COMMENT_STATUS_FILTERED);
  text.set_status(v1::COMMENT_STATUS_FILTERED);
  for (const char* blank : {" ", "\u200B", "\u3000\u00AD"}) {
    text.set_contains(blank);
    EXPECT_THAT(Refused(&Handlers::UpdatePolicy, request),
                ElementsAre("policy.text_rules[0].contains"));
  }
  request.clear_update_mask();
  EXPECT_THAT(Refused(&Handlers::UpdatePolicy, request), ElementsAre("update_mask"));
  request.mutable_update_mask()->add_paths("version");
  EXPECT_THAT(Refused(&Handlers::UpdatePolicy, request), ElementsAre("update_mask"));
  v1::GetPolicyRequest get;
  get.set_policy_name(kNul);
  get.set_policy_version(-1);
  EXPECT_THAT(Refused(&Handlers::GetPolicy, get), ElementsAre("policy_version", "policy_name"));
}

TEST_F(ClassificationInputTest, EchoesLongIdsCutAtACharacter) {
  Import(Comments(1));
  v1::IngestVerdictsRequest request;
  request.set_run_id(Start("external").id());
  v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
  verdict.set_status(v1::COMMENT_STATUS_NORMAL);
  std::string id;
  for (int i = 0; i < 60; ++i) id += "가";
  verdict.set_comment_id(id);
  const auto response = Ingest(request);
  ASSERT_EQ(response.refused_size(), 1);
  EXPECT_EQ(response.refused(0).comment_id(), id.substr(0, 126));
  EXPECT_TRUE(IsValidUtf8(response.refused(0).comment_id()));
  const auto imported = Import(R"([{"id":")" + id + R"(","text":"x"},{"id":"c1","text":"x"}])");
  ASSERT_EQ(imported.skipped_size(), 1);
  EXPECT_EQ(imported.skipped(0).comment_id(), id.substr(0, 126));
}

TEST_F(ClassificationInputTest, RefusesNulInWhatAgentsSend) {
  Import(Comments(1));
  v1::StartRunRequest start;
  start.set_video_id("v");
  start.set_classifier("external");
  start.set_policy_name(kNul);
  start.set_model(kNul);
  start.set_request_id(kNul);
  EXPECT_THAT(Refused(&Handlers::StartRun, start),
              ElementsAre("policy_name", "request_id", "model"));
  start = {};
  start.set_video_id("v");
  EXPECT_THAT(Refused(&Handlers::StartRun, start), ElementsAre("request_id")) << "required";
  v1::IngestVerdictsRequest request;
  request.set_run_id(Start("external").id());
  request.set_lists(R"({"normal":["c0\u0000"]})");
  auto response = Deliver(request);
  ASSERT_TRUE(response.has_error());
  EXPECT_EQ(response.error().code(), static_cast<int>(StatusCode::kInvalidArgument));
  v1::Verdict& verdict = *request.mutable_verdicts()->add_verdicts();
  verdict.set_comment_id(kNul);
  verdict.set_status(v1::COMMENT_STATUS_NORMAL);
  response = Deliver(request);
  EXPECT_EQ(response.error().code(), static_cast<int>(StatusCode::kInvalidArgument));
}

TEST_F(ClassificationInputTest, RefusesNulInWhatPeopleSend) {
  Import(Comments(1));
  v1::GetClassificationRequest get;
  get.set_video_id("v");
  get.set_comment_id(kNul);
  EXPECT_THAT(Refused(&Handlers::GetClassification, get), ElementsAre("comment_id"));
  v1::BatchGetClassificationsRequest batch;
  batch.set_video_id("v");
  batch.add_comment_ids("c0");
  batch.add_comment_ids(kNul);
  EXPECT_THAT(Refused(&Handlers::BatchGetClassifications, batch), ElementsAre("comment_ids[1]"));

  v1::OverrideClassificationRequest override;
  override.set_video_id("v");
  override.set_comment_id(kNul);
  override.set_status(v1::COMMENT_STATUS_NORMAL);
  override.set_actor(kNul);
  override.set_note(kNul);
  EXPECT_THAT(Refused(&Handlers::OverrideClassification, override),
              ElementsAre("note", "actor", "comment_id"));
  v1::BulkOverrideClassificationsRequest bulk;
  bulk.set_video_id("v");
  bulk.add_comment_ids(kNul);
  bulk.set_status(v1::COMMENT_STATUS_UNCLASSIFIED);
  bulk.set_actor(kNul);
  bulk.set_note(kNul);
  EXPECT_THAT(Refused(&Handlers::BulkOverrideClassifications, bulk),
              ElementsAre("status", "note", "actor", "comment_ids[0]", "request_id"));
  v1::UndoOverrideRequest undo;
  undo.set_video_id("v");
  undo.set_comment_id(kNul);
  undo.set_actor(kNul);
  undo.set_note(kNul);
  EXPECT_THAT(Refused(&Handlers::UndoOverride, undo), ElementsAre("comment_id", "note", "actor"));
  undo.clear_target();
  EXPECT_THAT(Refused(&Handlers::UndoOverride, undo), ElementsAre("target", "note", "actor"));
  v1::CreateAppealRequest appeal;
  appeal.set_video_id("v");
  appeal.set_comment_id(kNul);
  appeal.set_actor(kNul);
  appeal.set_note(kNul);
  appeal.set_request_id(kNul);
  EXPECT_THAT(Refused(&Handlers::CreateAppeal, appeal),
              ElementsAre("note", "actor", "comment_id", "request_id"));
  v1::ResolveAppealRequest resolve;
  EXPECT_THAT(Refused(&Handlers::ResolveAppeal, resolve), ElementsAre("state", "appeal_id"));
  resolve.set_state(v1::APPEAL_STATE_REJECTED);
  resolve.set_status(v1::COMMENT_STATUS_NORMAL);
  EXPECT_THAT(Refused(&Handlers::ResolveAppeal, resolve), ElementsAre("status", "appeal_id"));
}

TEST_F(ClassificationInputTest, AnUploadIdIsOfOneFile) {
  v1::ImportCommentsRequest request;
  request.set_video_id("v");
  request.set_upload_id("u");
  request.set_raw(Comments(2));
  EXPECT_EQ(Do(&Handlers::ImportComments, request).created_count(), 2);
  EXPECT_EQ(Do(&Handlers::ImportComments, request).unchanged_count(), 2) << "sent again";
  request.set_raw(Comments(3));
  EXPECT_EQ(handlers_.ImportComments(Call(), request).status().code(),
            StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace winnow::classification
