#include "services/dedup/policy/policy.h"

#include <gmock/gmock.h>

#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/collector/collector.h"

namespace winnow::dedup {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr const char* kTitle = "정부, 새 주거 대책 다음 달 발표한다";
constexpr const char* kNear = "정부, 새 주거 대책 다음 달 공개";

class DedupPolicy : public DedupServiceTest {
 protected:
  DedupPolicy() { Serve(); }

  v1::Policy Get(int64_t version = 0) {
    v1::GetPolicyRequest request;
    request.set_version(version);
    v1::GetPolicyResponse response;
    EXPECT_TRUE(Call(&Stub::GetPolicy, request, response).ok());
    return response.policy();
  }
  static v1::UpdatePolicyRequest Threshold(double value) {
    v1::UpdatePolicyRequest request;
    request.mutable_policy()->set_token_threshold(value);
    request.mutable_update_mask()->add_paths("token_threshold");
    return request;
  }
  v1::UpdatePolicyResponse response_;
};

TEST_F(DedupPolicy, ANamespaceWithoutOneHasTheConfigurations) {
  const v1::Policy policy = Get();
  EXPECT_EQ(policy.version(), 1);
  EXPECT_EQ(policy.citation_channels(), 3);
  EXPECT_FALSE(policy.has_create_time());
  EXPECT_EQ(Get(1).etag(), policy.etag());
  v1::GetPolicyRequest request;
  request.set_version(2);
  v1::GetPolicyResponse response;
  EXPECT_EQ(Call(&Stub::GetPolicy, request, response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(DedupPolicy, AChangeIsVersionedAuditedAndInForceAtOnce) {
  Submit(NewDocument("a", "one", kTitle));
  EXPECT_EQ(Submit(NewDocument("b", "two", kNear)).verdict(), v1::VERDICT_UNIQUE);
  v1::UpdatePolicyRequest request = Threshold(0.55);
  request.set_note("too many repeats");
  request.set_actor("mina");
  request.mutable_policy()->set_etag(Get().etag());
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok());
  EXPECT_EQ(response_.policy().version(), 2);
  const v1::Decision decided = Submit(NewDocument("c", "three", kNear + std::string(" 예정")));
  EXPECT_EQ(decided.policy_version(), 2);
  EXPECT_EQ(decided.verdict(), v1::VERDICT_DUPLICATE);

  const v1::Policy stored = Get();
  EXPECT_EQ(stored.SerializeAsString(), response_.policy().SerializeAsString());
  EXPECT_EQ(stored.note(), "too many repeats");
  EXPECT_EQ(stored.actor(), "mina");
  EXPECT_EQ(stored.namespace_(), "default");
  EXPECT_TRUE(stored.has_create_time());
  EXPECT_EQ(Get(1).token_threshold(), 0.8) << "earlier versions stay";
  EXPECT_EQ(Get(1).actor(), "");
}

TEST_F(DedupPolicy, TheCalibratedModeFindsStoriesByTheirLeads) {
  const std::string lead =
      "시는 다음 달부터 지하철 막차를 삼십 분 늦춘다고 오늘 밝혔다 시민 편의를 위해서다";
  v1::Document first = NewDocument("a", "one", "막차 시간이 다음 달에 바뀐다");
  first.set_text(lead);
  v1::Document second = NewDocument("b", "two", "심야 귀가 쉬워져 지하철 운행 연장한다");
  second.set_text(lead);
  Submit(first);
  v1::CheckDocumentRequest check;
  *check.mutable_document() = second;
  v1::CheckDocumentResponse checked;
  ASSERT_TRUE(Call(&Stub::CheckDocument, check, checked).ok());
  EXPECT_EQ(checked.decision().verdict(), v1::VERDICT_UNIQUE);
  v1::UpdatePolicyRequest request;
  request.mutable_policy()->set_rule_mode(v1::RULE_MODE_CALIBRATED);
  request.mutable_policy()->set_candidate_floor(0.2);
  for (const char* field : {"rule_mode", "candidate_floor"}) {
    request.mutable_update_mask()->add_paths(field);
  }
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok());
  const v1::Decision decision = Submit(second);
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DUPLICATE);
  EXPECT_EQ(decision.stage(), v1::STAGE_LEAD);
  EXPECT_EQ(decision.original_id(), "a");
  EXPECT_EQ(decision.candidates(0).scores().lead_jaccard(), 1);
  v1::GetDecisionRequest get;
  get.set_document_id("b");
  v1::GetDecisionResponse got;
  ASSERT_TRUE(Call(&Stub::GetDecision, get, got).ok());
  EXPECT_EQ(got.decision().SerializeAsString(), decision.SerializeAsString());
}

TEST_F(DedupPolicy, OnlyTheNewestDocumentsAreComparedWhereThePolicySaysSo) {
  Submit(NewDocument("a", "one", kTitle));
  Submit(NewDocument("x", "one", "바닷가 작은 도서관이 십 년 만에 문을 닫는다"));
  v1::UpdatePolicyRequest request;
  request.mutable_policy()->set_newest_documents(1);
  request.mutable_update_mask()->add_paths("newest_documents");
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok());
  EXPECT_EQ(Submit(NewDocument("b", "two", kTitle)).verdict(), v1::VERDICT_UNIQUE);
  EXPECT_EQ(Submit(NewDocument("c", "three", kTitle)).original_id(), "b");
}

TEST_F(DedupPolicy, AStaleEtagChangesNothing) {
  v1::UpdatePolicyRequest request = Threshold(0.7);
  request.mutable_policy()->set_etag(Get().etag());
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok());
  request.mutable_policy()->set_token_threshold(0.6);
  EXPECT_EQ(Call(&Stub::UpdatePolicy, request, response_).error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(Get().token_threshold(), 0.7);
}

TEST_F(DedupPolicy, ARepeatedRequestIsOneChange) {
  v1::UpdatePolicyRequest request = Threshold(0.7);
  request.set_request_id("once");
  request.mutable_policy()->set_etag(Get().etag());
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok());
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, Threshold(0.9), response_).ok());
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, request, response_).ok()) << "although its etag is stale";
  EXPECT_EQ(response_.policy().version(), 2);
  EXPECT_EQ(Get().version(), 3);
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, Threshold(0.9), response_).ok());
  EXPECT_EQ(response_.policy().version(), 3) << "nothing changed";
  request.mutable_policy()->set_token_threshold(0.6);
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::UpdatePolicy, request, response_))),
              ElementsAre("request_id"))
      << "it asks for something else";
}

TEST_F(DedupPolicy, AllThatIsWrongWithAChangeIsToldAtOnce) {
  v1::UpdatePolicyRequest request;
  request.set_namespace_("No Slug");
  request.set_note(std::string(501, 'x'));
  request.mutable_update_mask()->add_paths("etag");
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::UpdatePolicy, request, response_))),
              UnorderedElementsAre("namespace", "policy", "note", "update_mask.paths[0]"));
  request = Threshold(0.4);
  request.mutable_policy()->set_chain_floor(-1);
  request.mutable_update_mask()->add_paths("chain_floor");
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::UpdatePolicy, request, response_))),
              UnorderedElementsAre("policy.candidate_floor", "policy.chain_floor"));
  request.mutable_update_mask()->clear_paths();
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::UpdatePolicy, request, response_))),
              ElementsAre("update_mask"));
}

TEST_F(DedupPolicy, APreviewTellsWhatWouldChangeAndChangesNothing) {
  Submit(NewDocument("a", "one", kTitle));
  Submit(NewDocument("b", "two", kNear));
  Submit(NewDocument("c", "two", kTitle));
  Submit(NewDocument("d", "three", "바닷가 작은 도서관이 십 년 만에 문을 닫는다"));
  v1::PreviewPolicyRequest request;
  request.mutable_policy()->set_token_threshold(0.55);
  request.mutable_update_mask()->add_paths("token_threshold");
  v1::PreviewPolicyResponse preview;
  ASSERT_TRUE(Call(&Stub::PreviewPolicy, request, preview).ok());
  EXPECT_EQ(preview.document_count(), 4);
  EXPECT_EQ(preview.duplicate_count_before(), 1);
  EXPECT_EQ(preview.duplicate_count_after(), 2);
  EXPECT_EQ(preview.newly_duplicate_count(), 1);
  EXPECT_EQ(preview.newly_unique_count(), 0);
  ASSERT_EQ(preview.changes_size(), 1);
  EXPECT_EQ(preview.changes(0).document_id(), "b");
  EXPECT_EQ(preview.changes(0).original_id_after(), "a");
  EXPECT_EQ(preview.changes(0).stage_after(), v1::STAGE_TOKEN);
  EXPECT_EQ(preview.policy().version(), 2);
  EXPECT_EQ(Get().version(), 1);

  request.set_max_documents(2);  // the newest two: the original is not among them
  ASSERT_TRUE(Call(&Stub::PreviewPolicy, request, preview).ok());
  EXPECT_EQ(preview.document_count(), 2);
  EXPECT_EQ(preview.duplicate_count_after(), 0);
  request.set_max_documents(-1);
  request.set_max_changes(-1);
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::PreviewPolicy, request, preview))),
              UnorderedElementsAre("max_documents", "max_changes"));
}

TEST_F(DedupPolicy, APreviewOfAnEmptyNamespaceIsEmpty) {
  v1::PreviewPolicyRequest request;
  request.mutable_policy()->set_same_channel(true);
  request.mutable_update_mask()->add_paths("same_channel");
  v1::PreviewPolicyResponse preview;
  ASSERT_TRUE(Call(&Stub::PreviewPolicy, request, preview).ok());
  EXPECT_EQ(preview.document_count(), 0);
  EXPECT_FALSE(preview.has_from_time());
}

}  // namespace
}  // namespace winnow::dedup
