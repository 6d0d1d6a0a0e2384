#include "services/platform/grpc/errors/error_exit.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include "services/platform/grpc/errors/rpc_status.h"
#include "winnow/common/v1/error_reason.pb.h"
#include "winnow/dedup/v1/dedup_service.pb.h"
#include "winnow/newsfeed/v1/newsfeed_service.pb.h"

namespace winnow::rpc {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

template <class Detail>
Detail DetailOf(const grpc::Status& status) {
  Detail detail;
  const google::rpc::Status all = Details(status);
  for (const auto& any : all.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  ADD_FAILURE() << "no " << Detail::descriptor()->full_name();
  return detail;
}

TEST(ErrorExit, NamesTheFieldThatIsTheToken) {
  // What a server of these has: the descriptors of their requests.
  ASSERT_NE(dedup::v1::WatchDecisionsRequest::descriptor(), nullptr);
  ASSERT_NE(newsfeed::v1::CountNewArticlesRequest::descriptor(), nullptr);
  const auto field = [](std::string_view method) {
    const Status status = NameTokenField(InvalidPageToken("is malformed"), method);
    EXPECT_EQ(ReasonOf(status), Reason::kInvalidPageToken);
    return ViolationsOf(status).at(0).field;
  };
  EXPECT_EQ(field("winnow.dedup.v1.DedupService/ListDecisions"), "page_token");
  EXPECT_EQ(field("winnow.dedup.v1.DedupService/WatchDecisions"), "resume_token");
  EXPECT_EQ(field("winnow.newsfeed.v1.NewsFeedService/CountNewArticles"), "token");
  EXPECT_EQ(field("winnow.unknown.v1.Service/Method"), "page_token");
}

struct Row {
  Status status;
  grpc::StatusCode code;
  std::string reason;
  bool retry = false;
};

std::vector<Row> Rows() {
  return {
      {InvalidField("title", "is empty"), grpc::INVALID_ARGUMENT, "INVALID_FIELD"},
      {InvalidPageToken("is of another list"), grpc::INVALID_ARGUMENT, "INVALID_PAGE_TOKEN"},
      {NotFound("item", "7"), grpc::NOT_FOUND, "RESOURCE_NOT_FOUND"},
      {AlreadyExists("category", "k"), grpc::ALREADY_EXISTS, "RESOURCE_ALREADY_EXISTS"},
      {FailedPrecondition("not started"), grpc::FAILED_PRECONDITION, "STATE_FORBIDS"},
      {Aborted(Reason::kStaleEtag, "etag"), grpc::ABORTED, "STALE_ETAG"},
      {Aborted(Reason::kWriteConflict, "three times"), grpc::ABORTED, "WRITE_CONFLICT"},
      {DeadlineExceeded("too late"), grpc::DEADLINE_EXCEEDED, "DEADLINE_TOO_SHORT"},
      {Overloaded("queue", milliseconds(1500)), grpc::RESOURCE_EXHAUSTED, "OVERLOADED", true},
      {Unavailable(Reason::kStoreUnavailable, "PostgreSQL", milliseconds(1500)), grpc::UNAVAILABLE,
       "STORE_UNAVAILABLE", true},
      {Unavailable(Reason::kBrokerUnavailable, "broker", milliseconds(1500)), grpc::UNAVAILABLE,
       "BROKER_UNAVAILABLE", true},
      {Cancelled("gone"), grpc::CANCELLED, "CANCELLED"},
      {MakeError(StatusCode::kResourceExhausted, Reason::kReaderTooSlow, "slow"),
       grpc::RESOURCE_EXHAUSTED, "READER_TOO_SLOW"},
      {MakeError(StatusCode::kUnauthenticated, Reason::kUnauthenticated, "no token"),
       grpc::UNAUTHENTICATED, "UNAUTHENTICATED"},
  };
}

TEST(ErrorExit, GivesEveryRowOfTheErrorTableItsCodeAndReason) {
  for (const Row& row : Rows()) {
    const grpc::Status status = ToGrpcStatus(row.status, "r1");
    SCOPED_TRACE(row.reason);
    EXPECT_EQ(status.error_code(), row.code);
    EXPECT_EQ(status.error_message(), Message(row.status));
    EXPECT_EQ(Details(status).code(), static_cast<int>(row.code));
    EXPECT_EQ(Details(status).message(), status.error_message());
    const auto info = DetailOf<google::rpc::ErrorInfo>(status);
    EXPECT_EQ(info.domain(), "winnow");
    EXPECT_EQ(info.reason(), row.reason);
    if (row.retry) {
      const auto delay = DetailOf<google::rpc::RetryInfo>(status).retry_delay();
      EXPECT_EQ(delay.seconds(), 1);
      EXPECT_EQ(delay.nanos(), 500'000'000);
    }
  }
}

TEST(ErrorExit, BringsAnErrorOfAPeerBackAsItWasMade) {
  for (const Row& row : Rows()) {
    if (row.reason == "UNAUTHENTICATED") continue;  // a defect of ours, below
    SCOPED_TRACE(row.reason);
    const Status back = FromGrpcStatus(ToGrpcStatus(row.status, "r1"), "dedup");
    EXPECT_EQ(back.code(), row.status.code());
    EXPECT_EQ(Message(back), Message(row.status));
    EXPECT_EQ(ReasonOf(back), ReasonOf(row.status));
    EXPECT_EQ(RetryAfterOf(back), RetryAfterOf(row.status));
    EXPECT_EQ(ViolationsOf(back).size(), ViolationsOf(row.status).size());
    EXPECT_THAT(MetadataOf(back), UnorderedElementsAreArray(MetadataOf(row.status)));
  }
}

TEST(ErrorExit, IsOkWhenNothingIsWrong) {
  EXPECT_TRUE(ToGrpcStatus(OkStatus(), "r1").ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK, "dedup").ok());
  EXPECT_EQ(ToRpcStatus(OkStatus(), "r1").code(), 0);
  EXPECT_TRUE(FromRpcStatus(google::rpc::Status()).ok());
}

TEST(ErrorExit, ListsAllViolations) {
  Violations violations;
  violations.Add("items[0].title", "is empty: 1 to 1,000 characters");
  violations.Add("items[7].url", "is not absolute");
  const auto request = DetailOf<google::rpc::BadRequest>(ToGrpcStatus(violations.ToStatus(), "r1"));
  ASSERT_EQ(request.field_violations_size(), 2);
  EXPECT_EQ(request.field_violations(0).field(), "items[0].title");
  EXPECT_EQ(request.field_violations(1).description(), "is not absolute");
}

TEST(ErrorExit, CutsWhatWouldNotFitIntoTrailersAndSaysSo) {
  Violations violations;
  for (int i = 0; i < 1000; ++i) {
    violations.Add("items[" + std::to_string(i) + "].title", std::string(3000, 'x'));
  }
  const grpc::Status status = ToGrpcStatus(violations.ToStatus(), "r1");
  EXPECT_LT(status.error_details().size(), 4500U);
  EXPECT_LE(status.error_message().size(), 512U);
  const auto request = DetailOf<google::rpc::BadRequest>(status);
  const int shown = request.field_violations_size() - 1;
  ASSERT_GT(shown, 0);
  EXPECT_THAT(request.field_violations(shown).description(),
              HasSubstr("and " + std::to_string(1000 - shown) + " more"));
}

TEST(ErrorExit, CutsTextBetweenCharacters) {
  std::string korean;
  for (int i = 0; i < 1000; ++i) korean += "뉴";
  const grpc::Status status = ToGrpcStatus(FailedPrecondition(korean), "r1");
  ASSERT_LE(status.error_message().size(), 512U);
  EXPECT_EQ((status.error_message().size() - 3) % 3, 0U);
  EXPECT_THAT(status.error_message(), ::testing::EndsWith("..."));
}

TEST(ErrorExit, HidesTheTextOfADefect) {
  for (const Status& defect :
       {Internal("relation items does not exist"), Status(StatusCode::kUnknown, "relation items"),
        Status(StatusCode::kInvalidArgument, "relation items made elsewhere")}) {
    const grpc::Status status = ToGrpcStatus(defect, "r-17");
    EXPECT_EQ(status.error_code(), grpc::INTERNAL);
    EXPECT_THAT(status.error_message(), Not(HasSubstr("relation")));
    EXPECT_THAT(status.error_message(), HasSubstr("r-17"));
    EXPECT_THAT(status.error_details(), Not(HasSubstr("relation")));
    const auto info = DetailOf<google::rpc::ErrorInfo>(status);
    EXPECT_EQ(info.reason(), "INTERNAL");
    EXPECT_EQ(info.metadata().at("request_id"), "r-17");
  }
}

TEST(ErrorExit, NamesThePeerThatCannotBeReached) {
  const Status status =
      FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "failed to connect"}, "collector");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(status), Reason::kPeerUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("collector"));
  EXPECT_TRUE(RetryAfterOf(status).has_value());
}

TEST(ErrorExit, TakesTheDeadlineOfTheTransportAsSuch) {
  EXPECT_EQ(ReasonOf(FromGrpcStatus({grpc::StatusCode::DEADLINE_EXCEEDED, ""}, "dedup")),
            Reason::kDeadlineTooShort);
}

// gRPC makes CANCELLED of calls that it meets on their way when a server shuts down.
TEST(ErrorExit, APeerThatGivesACallUpIsAway) {
  const Status ours = FromGrpcStatus({grpc::StatusCode::CANCELLED, "CANCELLED"}, "dedup");
  EXPECT_EQ(ReasonOf(ours), Reason::kPeerUnavailable);
  EXPECT_TRUE(RetryAfterOf(ours).has_value());
}

// As behind Envoy, whose upstream was killed amid a call.
TEST(ErrorExit, AStreamThatAProxyResetIsAPeerThatIsAway) {
  for (const auto code : {grpc::StatusCode::INTERNAL, grpc::StatusCode::UNKNOWN}) {
    const Status ours =
        FromGrpcStatus({code, "Received RST_STREAM with error code 2"}, "collector");
    EXPECT_EQ(ReasonOf(ours), Reason::kPeerUnavailable);
    EXPECT_TRUE(RetryAfterOf(ours).has_value());
  }
}

TEST(ErrorExit, MakesADefectOfWhatAPeerOfOursMustNotAnswer) {
  for (const grpc::Status& answer :
       {ToGrpcStatus(Internal("x"), "r"),
        grpc::Status(grpc::StatusCode::UNKNOWN, "bad", "not a google.rpc.Status")}) {
    EXPECT_EQ(ReasonOf(FromGrpcStatus(answer, "dedup")), Reason::kInternal);
  }
}

// A token in rotation, a mesh's rule, an older instance: waited for like a peer that is away.
TEST(ErrorExit, APeerThatRefusesOurCallsIsAway) {
  const grpc::Status refused =
      ToGrpcStatus(MakeError(StatusCode::kUnauthenticated, Reason::kUnauthenticated, "token"), "r");
  for (const grpc::Status& answer :
       {refused, grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method"),
        grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "RBAC: access denied")}) {
    const Status ours = FromGrpcStatus(answer, "dedup");
    EXPECT_EQ(ReasonOf(ours), Reason::kPeerUnavailable);
    EXPECT_TRUE(RetryAfterOf(ours).has_value());
  }
}

TEST(ErrorExit, KnowsEveryReasonOfTheApi) {
  const auto* reasons = common::v1::ErrorReason_descriptor();
  for (int i = 1; i < reasons->value_count(); ++i) {
    const auto reason = static_cast<Reason>(reasons->value(i)->number());
    const Status status = MakeError(StatusCode::kAborted, reason, "x");
    EXPECT_EQ(ReasonOf(status), reason) << reasons->value(i)->name();
  }
}

}  // namespace
}  // namespace winnow::rpc
