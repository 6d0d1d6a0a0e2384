#include <gmock/gmock.h>

#include <thread>

#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"
#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/collector/collector.h"
#include "tests/support/sync/eventually.h"

namespace winnow::dedup {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

const Time kStart = std::chrono::sys_days(std::chrono::year(2024) / 5 / 1);

std::vector<std::string> IdsOf(const v1::ListDecisionsResponse& page) {
  std::vector<std::string> ids;
  for (const auto& decision : page.decisions()) ids.push_back(decision.document_id());
  return ids;
}

class DedupHistory : public DedupServiceTest {
 protected:
  DedupHistory() { Serve(); }

  // A document of `story` that arrived so long after the start.
  v1::Decision SubmitAt(const std::string& id, const std::string& channel, int story,
                        std::chrono::minutes after) {
    v1::Document document = NewDocument(id, channel, test::StoryTitle(story));
    *document.mutable_arrival_time() = ToTimestamp(kStart + after);
    return Submit(document);
  }
  // Two stories: "a" of three channels and "c" of two, over three hours.
  void SubmitWorld() {
    using std::chrono::minutes;
    SubmitAt("a", "one", 1, minutes(0));
    SubmitAt("b", "two", 1, minutes(10));
    SubmitAt("c", "two", 2, minutes(70));
    SubmitAt("d", "three", 1, minutes(80));
    SubmitAt("e", "one", 2, minutes(140));
    SubmitAt("f", "two", 1, minutes(150));
  }
  template <class Request>
  void SetRange(Request& request, std::chrono::minutes from, std::chrono::minutes until) {
    *request.mutable_from_time() = ToTimestamp(kStart + from);
    *request.mutable_until_time() = ToTimestamp(kStart + until);
  }
  v1::ListDecisionsResponse List(const v1::ListDecisionsRequest& request) {
    v1::ListDecisionsResponse page;
    const grpc::Status status = Call(&Stub::ListDecisions, request, page);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return page;
  }
};

TEST_F(DedupHistory, DecisionsAreListedByVerdictChannelAndTimeNewestFirst) {
  SubmitWorld();
  v1::ListDecisionsRequest request;
  EXPECT_THAT(IdsOf(List(request)), ElementsAre("f", "e", "d", "c", "b", "a"));
  request.set_verdict(v1::VERDICT_DUPLICATE);
  request.set_channel("two");
  EXPECT_THAT(IdsOf(List(request)), ElementsAre("f", "b"));
  request.clear_channel();
  SetRange(request, std::chrono::minutes(10), std::chrono::minutes(140));
  EXPECT_THAT(IdsOf(List(request)), ElementsAre("d", "b")) << "until is not in it";
  request.set_page_size(1);
  v1::ListDecisionsResponse page = List(request);
  EXPECT_THAT(IdsOf(page), ElementsAre("d"));
  EXPECT_EQ(page.decisions(0).candidates_size(), 1);
  request.set_page_token(page.next_page_token());
  page = List(request);
  EXPECT_THAT(IdsOf(page), ElementsAre("b"));
  EXPECT_EQ(page.next_page_token(), "");
  request.set_channel("one");
  EXPECT_EQ(Call(&Stub::ListDecisions, request, page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT)
      << "a token of other filters";
}

TEST_F(DedupHistory, TheMostCitedOriginalsOfARangeAreTold) {
  SubmitWorld();
  v1::ListTopCitedRequest request;
  v1::ListTopCitedResponse top;
  SetRange(request, std::chrono::minutes(0), std::chrono::hours(24));
  ASSERT_TRUE(Call(&Stub::ListTopCited, request, top).ok());
  ASSERT_EQ(top.originals_size(), 2);
  EXPECT_EQ(top.originals(0).original_id(), "a");
  EXPECT_EQ(top.originals(0).duplicate_count(), 3);
  EXPECT_EQ(top.originals(0).channel_count(), 3);
  EXPECT_EQ(top.originals(0).channel(), "one");
  EXPECT_EQ(FromTimestamp(top.originals(0).last_duplicate_time()).value(),
            kStart + std::chrono::minutes(150));
  EXPECT_EQ(top.originals(1).original_id(), "c");
  SetRange(request, std::chrono::minutes(100), std::chrono::minutes(145));
  ASSERT_TRUE(Call(&Stub::ListTopCited, request, top).ok());
  ASSERT_EQ(top.originals_size(), 1);
  EXPECT_EQ(top.originals(0).original_id(), "c") << "which arrived before the range";
  SetRange(request, -std::chrono::hours(24 * 40), std::chrono::minutes(0));
  request.set_page_size(-1);
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::ListTopCited, request, top))),
              UnorderedElementsAre("from_time", "page_size"));
}

TEST_F(DedupHistory, TheMostCitedAreListedPageByPageOfOneRange) {
  constexpr int kStories = 7;
  const auto id = [](int story, int repeat) {
    return "s" + std::to_string(story) + "-" + std::to_string(repeat);
  };
  for (int story = 0; story < kStories; ++story) {
    for (int repeat = 0; repeat <= 1 + story / 3; ++repeat) {  // many are repeated as often
      Submit(NewDocument(id(story, repeat), std::to_string(repeat), test::StoryTitle(story)));
    }
  }
  v1::ListTopCitedRequest request;
  request.set_page_size(2);
  std::vector<std::string> listed;
  v1::ListTopCitedResponse page;
  do {
    ASSERT_TRUE(Call(&Stub::ListTopCited, request, page).ok());
    EXPECT_LE(page.originals_size(), 2);
    for (const auto& original : page.originals()) listed.push_back(original.original_id());
    request.set_page_token(page.next_page_token());
    // Repeated since: not of the range that the first page took.
    const std::string late = "late" + std::to_string(listed.size());
    Submit(NewDocument(late, late, test::StoryTitle(0)));
  } while (!request.page_token().empty() && listed.size() <= kStories);
  EXPECT_THAT(listed, ElementsAre("s6-0", "s3-0", "s4-0", "s5-0", "s0-0", "s1-0", "s2-0"));
  request.set_page_size(0);
  request.set_page_token("");
  ASSERT_TRUE(Call(&Stub::ListTopCited, request, page).ok());
  request.set_page_token("nonsense");
  EXPECT_EQ(Call(&Stub::ListTopCited, request, page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DedupHistory, StatisticsCountByHourChannelStageAndSimilarity) {
  SubmitWorld();
  v1::GetStatsRequest request;
  SetRange(request, std::chrono::minutes(0), std::chrono::hours(24));
  v1::GetStatsResponse stats;
  ASSERT_TRUE(Call(&Stub::GetStats, request, stats).ok());
  EXPECT_EQ(stats.document_count(), 6);
  EXPECT_EQ(stats.duplicate_count(), 4);
  ASSERT_EQ(stats.hours_size(), 3);
  EXPECT_EQ(FromTimestamp(stats.hours(1).start_time()).value(), kStart + std::chrono::hours(1));
  EXPECT_EQ(stats.hours(1).document_count(), 2);
  EXPECT_EQ(stats.hours(1).duplicate_count(), 1);
  ASSERT_EQ(stats.channels_size(), 3);
  EXPECT_EQ(stats.channels(0).channel(), "two");
  EXPECT_EQ(stats.channels(0).document_count(), 3);
  EXPECT_EQ(stats.channels(0).duplicate_count(), 2);
  EXPECT_EQ(stats.channels(0).first_count(), 1) << "story c";
  ASSERT_EQ(stats.stages_size(), 2);
  EXPECT_EQ(stats.stages(1).stage(), v1::STAGE_EXACT);
  EXPECT_EQ(stats.stages(1).document_count(), 4);
  ASSERT_EQ(stats.similarities_size(), 20);
  EXPECT_EQ(stats.similarities(0).unique_count(), 2);
  EXPECT_EQ(stats.similarities(19).duplicate_count(), 4);
  EXPECT_EQ(stats.false_positives().rate_high(), 0) << "equal titles are beyond doubt";
  EXPECT_EQ(stats.server().decided_count(), 6);
  EXPECT_GT(stats.server().mean_compare_time().nanos(), 0);
  EXPECT_EQ(stats.server().window_document_count(), 6);
}

TEST_F(DedupHistory, NearDecisionsAreQueuedReviewedAndFeedTheEstimates) {
  v1::UpdatePolicyRequest all;
  all.mutable_policy()->set_review_rate(1);
  all.mutable_update_mask()->add_paths("review_rate");
  v1::UpdatePolicyResponse updated;
  ASSERT_TRUE(Call(&Stub::UpdatePolicy, all, updated).ok());
  Submit(NewDocument("a", "one", "정부, 새 주거 대책 다음 달 발표한다"));
  Submit(NewDocument("near", "two", "정부, 새 주거 대책 다음 달 공개"));
  Submit(NewDocument("token", "three", "정부, 새 주거 대책 다음 달 발표한다고"));
  Submit(NewDocument("exact", "three", "정부 새 주거 대책 다음 달 발표한다"));

  v1::ListReviewQueueRequest request;
  v1::ListReviewQueueResponse queue;
  request.set_page_size(1);
  ASSERT_TRUE(Call(&Stub::ListReviewQueue, request, queue).ok());
  ASSERT_EQ(queue.items_size(), 1);
  EXPECT_EQ(queue.items(0).decision().document_id(), "token");
  EXPECT_EQ(queue.items(0).kind(), v1::REVIEW_KIND_DUPLICATE);
  EXPECT_EQ(queue.items(0).candidate_title(), "정부 새 주거 대책 다음 달 발표한다");
  request.set_page_token(queue.next_page_token());
  ASSERT_TRUE(Call(&Stub::ListReviewQueue, request, queue).ok());
  ASSERT_EQ(queue.items_size(), 1);
  EXPECT_EQ(queue.items(0).decision().document_id(), "near");
  EXPECT_EQ(queue.items(0).kind(), v1::REVIEW_KIND_UNIQUE);
  EXPECT_EQ(queue.next_page_token(), "");

  v1::OverrideDecisionRequest confirm;
  confirm.set_document_id("token");
  confirm.set_verdict(v1::VERDICT_DUPLICATE);
  confirm.set_original_id("a");
  confirm.set_note("the same story");
  v1::OverrideDecisionResponse said;
  ASSERT_TRUE(Call(&Stub::OverrideDecision, confirm, said).ok());
  v1::OverrideDecisionRequest correct = confirm;
  correct.set_document_id("near");
  ASSERT_TRUE(Call(&Stub::OverrideDecision, correct, said).ok());
  EXPECT_EQ(said.decision().verdict(), v1::VERDICT_UNIQUE) << "what was decided stays";
  EXPECT_EQ(said.decision().override().verdict(), v1::VERDICT_DUPLICATE);
  ASSERT_TRUE(Call(&Stub::ListReviewQueue, v1::ListReviewQueueRequest(), queue).ok());
  EXPECT_EQ(queue.items_size(), 0);

  v1::GetStatsResponse stats;
  ASSERT_TRUE(Call(&Stub::GetStats, v1::GetStatsRequest(), stats).ok());
  EXPECT_EQ(stats.false_positives().reviewed_count(), 1);
  EXPECT_EQ(stats.false_positives().wrong_count(), 0);
  EXPECT_EQ(stats.false_negatives().decision_count(), 1);
  EXPECT_EQ(stats.false_negatives().wrong_count(), 1);
  EXPECT_EQ(stats.false_negatives().rate(), 0.5) << "one of two unique documents";
}

TEST_F(DedupHistory, AnOverrideIsKeptAuditedAndSaidOnce) {
  SubmitWorld();
  v1::OverrideDecisionRequest request;
  request.set_document_id("b");
  request.set_verdict(v1::VERDICT_UNIQUE);
  request.set_note("another event");
  request.set_request_id("once");
  v1::OverrideDecisionResponse said;
  ASSERT_TRUE(Call(&Stub::OverrideDecision, request, said).ok());
  EXPECT_EQ(said.decision().override().revision(), 1);
  EXPECT_EQ(said.decision().override().actor(), "anonymous");
  ASSERT_TRUE(Call(&Stub::OverrideDecision, request, said).ok());
  request.clear_request_id();
  ASSERT_TRUE(Call(&Stub::OverrideDecision, request, said).ok());
  EXPECT_EQ(said.decision().override().revision(), 1);
  request.set_note("on second thoughts");
  request.set_actor("mina");
  ASSERT_TRUE(Call(&Stub::OverrideDecision, request, said).ok());
  EXPECT_EQ(said.decision().override().revision(), 2);
  v1::GetDecisionRequest get;
  get.set_document_id("b");
  v1::GetDecisionResponse got;
  ASSERT_TRUE(Call(&Stub::GetDecision, get, got).ok());
  EXPECT_EQ(got.decision().override().note(), "on second thoughts");
  EXPECT_EQ(got.decision().override().actor(), "mina");
  EXPECT_EQ(test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.overrides"), 2);
  EXPECT_EQ(SubmitAt("g", "four", 1, std::chrono::minutes(200)).original_id(), "a");
}

// An id that was used for one document must not seem to have been applied to another.
TEST_F(DedupHistory, ARequestIdIsOfOneOverride) {
  SubmitWorld();
  v1::OverrideDecisionRequest request;
  request.set_document_id("b");
  request.set_verdict(v1::VERDICT_UNIQUE);
  request.set_note("another event");
  request.set_request_id("once");
  v1::OverrideDecisionResponse said;
  ASSERT_TRUE(Call(&Stub::OverrideDecision, request, said).ok());
  v1::OverrideDecisionRequest other = request;
  other.set_document_id("d");
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::OverrideDecision, other, said))),
              ElementsAre("request_id"));
  other = request;
  other.set_note("for another reason");
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::OverrideDecision, other, said))),
              ElementsAre("request_id"));
  EXPECT_EQ(test::QueryNumber(platform_.pool(), "SELECT count(*) FROM dedup.overrides"), 1);
}

TEST_F(DedupHistory, AnOverrideThatMakesNoSenseIsRefused) {
  SubmitWorld();
  v1::OverrideDecisionRequest request;
  v1::OverrideDecisionResponse said;
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::OverrideDecision, request, said))),
              UnorderedElementsAre("document_id", "verdict", "note"));
  request.set_document_id("b");
  request.set_verdict(v1::VERDICT_DUPLICATE);
  request.set_note("why not");
  request.set_original_id("b");
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::OverrideDecision, request, said))),
              ElementsAre("original_id"));
  request.set_original_id("nobody");
  EXPECT_EQ(Call(&Stub::OverrideDecision, request, said).error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_original_id("d");
  EXPECT_EQ(Call(&Stub::OverrideDecision, request, said).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  request.set_document_id("nobody");
  EXPECT_EQ(Call(&Stub::OverrideDecision, request, said).error_code(), grpc::StatusCode::NOT_FOUND);
}

// A watch read until it has brought so many decisions.
class Watching {
 public:
  Watching(v1::DedupService::Stub& stub, const v1::WatchDecisionsRequest& request) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub.WatchDecisions(&context_, request);
    v1::WatchDecisionsResponse greeting;
    EXPECT_TRUE(stream_->Read(&greeting)) << "comes at once";
    Keep(greeting);
  }
  ~Watching() {
    context_.TryCancel();
    for (v1::WatchDecisionsResponse rest; stream_->Read(&rest);) {
    }
    stream_->Finish();
  }
  const std::vector<std::string>& ReadUntil(size_t count) {
    v1::WatchDecisionsResponse response;
    while (ids_.size() < count && stream_->Read(&response)) Keep(response);
    return ids_;
  }
  const std::string& token() const { return token_; }
  int gaps() const { return gaps_; }

 private:
  void Keep(const v1::WatchDecisionsResponse& response) {
    for (const auto& decision : response.decisions()) ids_.push_back(decision.document_id());
    gaps_ += response.has_gap();
    token_ = response.resume_token();
  }
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchDecisionsResponse>> stream_;
  std::vector<std::string> ids_;
  std::string token_;
  int gaps_ = 0;
};

// A position of another log, or beyond the head, is not a valid start.
TEST_F(DedupHistory, AWatchTellsTheGapAfterAnotherHistory) {
  SubmitWorld();
  std::string token;
  {
    Watching watching(*dedup_, {});
    EXPECT_EQ(watching.gaps(), 0);
    token = watching.token();
  }
  const uint64_t filter = Hash64("default");
  auto read = PageTokenReader::Parse(token, 22, filter);
  ASSERT_TRUE(read.ok());
  const int64_t at = *read->ReadNumber();
  const std::string epoch = *read->ReadText();
  const auto gaps = [&](int64_t place, const std::string& history) {
    v1::WatchDecisionsRequest request;
    request.set_resume_token(PageTokenWriter(22, filter).Add(place).Add(history).Finish());
    Watching watching(*dedup_, request);
    Submit(NewDocument(history + std::to_string(place), "one", test::StoryTitle(200)));
    EXPECT_THAT(watching.ReadUntil(1), ElementsAre(history + std::to_string(place)));
    return watching.gaps();
  };
  EXPECT_EQ(gaps(at, epoch), 0);
  EXPECT_EQ(gaps(at, "elsewhere"), 1);
  EXPECT_EQ(gaps(at + 1'000, epoch), 1);
}

TEST_F(DedupHistory, AWatchTellsEveryDecisionInOrderAndGoesOnWhereItEnded) {
  Submit(NewDocument("before", "one", test::StoryTitle(100)));
  std::string token;
  {
    Watching watching(*dedup_, {});
    SubmitWorld();
    EXPECT_THAT(watching.ReadUntil(6), ElementsAre("a", "b", "c", "d", "e", "f"));
    token = watching.token();
  }
  Submit(NewDocument("later", "one", test::StoryTitle(101)));
  v1::WatchDecisionsRequest request;
  request.set_resume_token(token);
  Watching resumed(*dedup_, request);
  EXPECT_THAT(resumed.ReadUntil(1), ElementsAre("later"));
  request.set_namespace_("other");
  grpc::ClientContext context;
  SetDeadline(context);
  auto refused = dedup_->WatchDecisions(&context, request);
  v1::WatchDecisionsResponse none;
  EXPECT_FALSE(refused->Read(&none));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(DedupHistory, AWatchBringsALongHistoryPageByPage) {
  std::string token;
  {
    Watching watching(*dedup_, {});
    token = watching.token();
  }
  constexpr int kDocuments = 1'700;
  {
    test::DedupInstance other(url_);  // another process decides them
    std::vector<Document> documents;
    for (int i = 0; i < kDocuments; ++i) {
      documents.push_back(test::NewDocument(std::to_string(i), i % 2 == 0 ? "one" : "two",
                                            test::StoryTitle(i / 2)));
    }
    for (const auto& decision : other.Submit(std::move(documents))) ASSERT_TRUE(decision.ok());
  }
  v1::WatchDecisionsRequest request;
  request.set_resume_token(token);
  Watching resumed(*dedup_, request);
  const auto& all = resumed.ReadUntil(kDocuments);
  ASSERT_EQ(all.size(), static_cast<size_t>(kDocuments));
  for (int i = 0; i < kDocuments; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], std::to_string(i));
  request.set_verdict(v1::VERDICT_DUPLICATE);
  Watching duplicates(*dedup_, request);
  EXPECT_EQ(duplicates.ReadUntil(kDocuments / 2).front(), "1");
}

}  // namespace
}  // namespace winnow::dedup
