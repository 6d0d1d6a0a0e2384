#include <gmock/gmock.h>

#include "services/dedup/text/unicode.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/timestamp.h"
#include "tests/integration/dedup/service_fixture.h"
#include "tests/support/postgres/locked_table.h"

namespace winnow::dedup {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char* kTitle = "정부, 새 주거 대책 다음 달 발표한다";
constexpr const char* kRetold = "[속보] 정부 새 주거대책 다음달 발표한다";
constexpr const char* kOther = "바닷가 작은 도서관이 십 년 만에 문을 닫는다";

class DedupService : public DedupServiceTest {
 protected:
  DedupService() { Serve(); }
};

TEST_F(DedupService, ADecisionIsAnsweredAndReadBack) {
  v1::Document first = NewDocument("a", "one", kTitle);
  first.set_url("https://example.com/a?utm_source=x");
  const v1::Decision unique = Submit(first);
  EXPECT_EQ(unique.verdict(), v1::VERDICT_UNIQUE);
  EXPECT_EQ(unique.namespace_(), "default");
  EXPECT_EQ(unique.policy_version(), 1);
  EXPECT_TRUE(unique.recorded());
  const v1::Decision duplicate = Submit(NewDocument("b", "two", kRetold));
  EXPECT_EQ(duplicate.verdict(), v1::VERDICT_DUPLICATE);
  EXPECT_EQ(duplicate.original_id(), "a");
  EXPECT_EQ(duplicate.stage(), v1::STAGE_EXACT);
  EXPECT_EQ(duplicate.similarity(), 1);
  EXPECT_EQ(duplicate.candidates_size(), 1);

  for (const v1::Decision& reported : {unique, duplicate}) {
    v1::GetDecisionRequest request;
    request.set_document_id(reported.document_id());
    v1::GetDecisionResponse response;
    ASSERT_TRUE(Call(&Stub::GetDecision, request, response).ok());
    EXPECT_EQ(response.decision().SerializeAsString(), reported.SerializeAsString());
  }
}

TEST_F(DedupService, AllThatIsWrongWithADocumentIsToldAtOnce) {
  v1::SubmitDocumentRequest request;
  v1::Document& document = *request.mutable_document();
  document.set_namespace_("Bad Namespace");
  document.set_id(std::string(129, 'x'));
  document.set_title(std::string(1'001, 'x'));
  document.set_text(std::string("a\0b", 3));
  document.set_language("ko!");
  document.set_url("ftp://example.com/");
  document.mutable_publish_time()->set_seconds(-100'000'000'000);
  v1::SubmitDocumentResponse response;
  const grpc::Status status = Call(&Stub::SubmitDocument, request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FieldsOf(DetailsOf(status)),
              UnorderedElementsAre("document.namespace", "document.id", "document.channel",
                                   "document.title", "document.text", "document.language",
                                   "document.url", "document.publish_time"));
  request.clear_document();
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::SubmitDocument, request, response))),
              ElementsAre("document"));
}

TEST_F(DedupService, AStreamAnswersEachDocumentInOrder) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto stream = dedup_->IngestDocuments(&context);
  constexpr int kDocuments = 2'500;
  std::vector<v1::IngestDocumentsResponse> answers;
  std::thread reader([&] {
    for (v1::IngestDocumentsResponse answer; stream->Read(&answer);) answers.push_back(answer);
  });
  for (int i = 0; i < kDocuments; ++i) {
    v1::IngestDocumentsRequest request;
    *request.mutable_document() =
        NewDocument(std::to_string(i), i % 2 == 0 ? "one" : "two", test::StoryTitle(i / 2));
    if (i % 100 == 7) request.mutable_document()->clear_title();
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  reader.join();
  ASSERT_TRUE(stream->Finish().ok());
  ASSERT_EQ(answers.size(), static_cast<size_t>(kDocuments));
  for (int i = 0; i < kDocuments; ++i) {
    const v1::IngestDocumentsResponse& answer = answers[static_cast<size_t>(i)];
    if (i % 100 == 7) {
      EXPECT_THAT(FieldsOf(answer.error()), ElementsAre("document.title"));
      continue;
    }
    ASSERT_EQ(answer.decision().document_id(), std::to_string(i));
    if (i % 2 == 1) {
      ASSERT_EQ(answer.decision().original_id(), std::to_string(i - 1));
    }
  }
}

std::string TitleLikeNoOther(const std::string& id) {
  std::u32string title;
  for (uint64_t hash = Hash64(id); hash > 0; hash >>= 6) title += char32_t{0xAC00} + hash % 2'000;
  return EncodeUtf8(title);
}

// Sends its documents at once, and takes what is answered.
class Sender {
 public:
  Sender(v1::DedupService::Stub& stub, int number, int documents) {
    DedupServiceTest::SetDeadline(context_);
    stream_ = stub.IngestDocuments(&context_);
    for (int i = 0; i < documents; ++i) {
      v1::IngestDocumentsRequest request;
      v1::Document& document = *request.mutable_document();
      document.set_id(std::to_string(number) + "-" + std::to_string(i));
      document.set_channel("one");
      document.set_title(TitleLikeNoOther(document.id()));
      EXPECT_TRUE(stream_->Write(request, grpc::WriteOptions().set_buffer_hint()));
    }
    EXPECT_TRUE(stream_->WritesDone());
  }
  int Recorded() {
    int recorded = 0;
    for (v1::IngestDocumentsResponse answer; stream_->Read(&answer);) {
      recorded += answer.decision().recorded() ? 1 : 0;
    }
    EXPECT_TRUE(stream_->Finish().ok());
    return recorded;
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::IngestDocumentsRequest, v1::IngestDocumentsResponse>>
      stream_;
};

TEST_F(DedupService, NoneOfManyStreamsIsRefusedWhileTheStoreIsSlow) {
  constexpr int kStreams = 11;
  constexpr int kDocuments = 2'000;  // of a stream, which holds as many; more than the queue in all
  std::vector<std::unique_ptr<Sender>> senders;
  {
    const test::LockedTable held(url_, "dedup.entries");
    for (int i = 0; i < kStreams; ++i) {
      senders.push_back(std::make_unique<Sender>(*dedup_, i, kDocuments));
    }
  }
  for (const auto& sender : senders) EXPECT_EQ(sender->Recorded(), kDocuments);
}

TEST_F(DedupService, ACheckNeedsNoId) {
  Submit(NewDocument("a", "one", kTitle));
  v1::CheckDocumentRequest request;
  *request.mutable_document() = NewDocument("", "two", kRetold);
  v1::CheckDocumentResponse response;
  ASSERT_TRUE(Call(&Stub::CheckDocument, request, response).ok());
  EXPECT_EQ(response.decision().original_id(), "a");
  EXPECT_FALSE(response.decision().recorded());
}

TEST_F(DedupService, AComparisonExplainsItself) {
  v1::CompareDocumentsRequest request;
  *request.mutable_earlier() = NewDocument("", "one", kTitle);
  *request.mutable_later() = NewDocument("", "two", kRetold);
  v1::CompareDocumentsResponse response;
  ASSERT_TRUE(Call(&Stub::CompareDocuments, request, response).ok());
  EXPECT_EQ(response.verdict(), v1::VERDICT_DUPLICATE);
  EXPECT_EQ(response.stages_size(), 6);
  EXPECT_EQ(response.modes_size(), 2);
  EXPECT_EQ(response.scores().title_jaccard(), 1);
  EXPECT_EQ(response.later_normalized_title(), "정부 새 주거대책 다음달 발표한다");
  EXPECT_EQ(response.policy().version(), 1);
  EXPECT_EQ(response.policy().window().seconds(), 24 * 3600);
  EXPECT_EQ(response.policy().token_threshold(), 0.8);
  EXPECT_FALSE(response.explanation().empty());

  request.mutable_later()->set_namespace_("other");
  request.mutable_earlier()->clear_channel();
  const grpc::Status status = Call(&Stub::CompareDocuments, request, response);
  EXPECT_THAT(FieldsOf(DetailsOf(status)),
              UnorderedElementsAre("later.namespace", "earlier.channel"));
}

TEST_F(DedupService, TheHistoryOfAnOriginalIsPagedAndCounted) {
  v1::Document original = NewDocument("a", "one", kTitle);
  original.set_url("https://example.com/a");
  Submit(original);
  const char* channels[] = {"two", "three", "two", "four", "two"};
  for (int i = 0; i < 5; ++i) {
    v1::Document document = NewDocument("d" + std::to_string(i), channels[i], kRetold);
    document.set_url("https://example.org/" + std::to_string(i));
    EXPECT_EQ(Submit(document).original_id(), "a");
  }
  v1::Document again = NewDocument("again", "one", kOther);
  again.set_url("https://www.example.com/a#top");
  EXPECT_EQ(Submit(again).stage(), v1::STAGE_URL);

  v1::ListDuplicatesRequest request;
  request.set_original_id("a");
  request.set_page_size(4);
  v1::ListDuplicatesResponse page;
  std::vector<std::string> ids;
  do {
    ASSERT_TRUE(Call(&Stub::ListDuplicates, request, page).ok());
    for (const v1::Duplicate& duplicate : page.duplicates()) ids.push_back(duplicate.document_id());
    request.set_page_token(page.next_page_token());
  } while (!page.next_page_token().empty());
  EXPECT_THAT(ids, ElementsAre("d0", "d1", "d2", "d3", "d4", "again"));
  EXPECT_EQ(page.duplicates(0).url(), "https://example.org/4");

  v1::GetCitationsRequest counted;
  counted.set_original_id("a");
  v1::GetCitationsResponse citations;
  ASSERT_TRUE(Call(&Stub::GetCitations, counted, citations).ok());
  EXPECT_EQ(citations.duplicate_count(), 6);
  EXPECT_EQ(citations.channel_count(), 4);
  ASSERT_EQ(citations.channels_size(), 4);
  EXPECT_EQ(citations.channels(0).channel(), "two");
  EXPECT_EQ(citations.channels(0).count(), 3);
  EXPECT_EQ(citations.channels(1).channel(), "four");
}

TEST_F(DedupService, AnOriginalWithoutDuplicatesHasAnEmptyHistory) {
  Submit(NewDocument("a", "one", kTitle));
  v1::ListDuplicatesRequest request;
  request.set_original_id("a");
  v1::ListDuplicatesResponse page;
  ASSERT_TRUE(Call(&Stub::ListDuplicates, request, page).ok());
  EXPECT_THAT(page.duplicates(), IsEmpty());
  EXPECT_TRUE(page.next_page_token().empty());
  v1::GetCitationsRequest counted;
  counted.set_original_id("a");
  v1::GetCitationsResponse citations;
  ASSERT_TRUE(Call(&Stub::GetCitations, counted, citations).ok());
  EXPECT_EQ(citations.duplicate_count(), 0);
  EXPECT_EQ(citations.channel_count(), 1);
}

TEST_F(DedupService, UnknownIdsAreNotFound) {
  v1::GetDecisionRequest decision;
  decision.set_document_id("nobody");
  v1::GetDecisionResponse decided;
  EXPECT_EQ(Call(&Stub::GetDecision, decision, decided).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::ListDuplicatesRequest list;
  list.set_original_id("nobody");
  v1::ListDuplicatesResponse page;
  EXPECT_EQ(Call(&Stub::ListDuplicates, list, page).error_code(), grpc::StatusCode::NOT_FOUND);
  v1::GetCitationsRequest count;
  count.set_original_id("nobody");
  v1::GetCitationsResponse citations;
  EXPECT_EQ(Call(&Stub::GetCitations, count, citations).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(DedupService, BadListingsAreRefusedByName) {
  v1::ListDuplicatesRequest request;
  request.set_namespace_("No");
  request.set_page_size(-1);
  v1::ListDuplicatesResponse page;
  EXPECT_THAT(FieldsOf(DetailsOf(Call(&Stub::ListDuplicates, request, page))),
              UnorderedElementsAre("namespace", "original_id", "page_size"));
  request.Clear();
  request.set_original_id("a");
  request.set_page_token("nonsense");
  EXPECT_EQ(Call(&Stub::ListDuplicates, request, page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace winnow::dedup
