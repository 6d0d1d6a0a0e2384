#include "services/platform/base/status.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include "winnow/common/v1/error_reason.pb.h"

namespace winnow {
namespace {

using common::v1::ErrorReason;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The compiler holds this switch complete.
std::string NameOf(Reason reason) {
  switch (reason) {
    case Reason::kUnspecified:
      return "kUnspecified";
    case Reason::kInvalidField:
      return "kInvalidField";
    case Reason::kInvalidPageToken:
      return "kInvalidPageToken";
    case Reason::kResourceNotFound:
      return "kResourceNotFound";
    case Reason::kResourceAlreadyExists:
      return "kResourceAlreadyExists";
    case Reason::kStateForbids:
      return "kStateForbids";
    case Reason::kStaleEtag:
      return "kStaleEtag";
    case Reason::kWriteConflict:
      return "kWriteConflict";
    case Reason::kDeadlineTooShort:
      return "kDeadlineTooShort";
    case Reason::kOverloaded:
      return "kOverloaded";
    case Reason::kStoreUnavailable:
      return "kStoreUnavailable";
    case Reason::kPeerUnavailable:
      return "kPeerUnavailable";
    case Reason::kBrokerUnavailable:
      return "kBrokerUnavailable";
    case Reason::kShuttingDown:
      return "kShuttingDown";
    case Reason::kReaderTooSlow:
      return "kReaderTooSlow";
    case Reason::kUnauthenticated:
      return "kUnauthenticated";
    case Reason::kInternal:
      return "kInternal";
    case Reason::kCancelled:
      return "kCancelled";
    case Reason::kRedisUnavailable:
      return "kRedisUnavailable";
    case Reason::kStaleToken:
      return "kStaleToken";
    case Reason::kWindowLoading:
      return "kWindowLoading";
  }
  return "a number without a Reason";
}

// "ERROR_REASON_INVALID_FIELD" -> "kInvalidField".
std::string ConstantName(const std::string& proto_name) {
  std::string out = "k";
  bool upper = true;
  for (const char c : proto_name.substr(std::string("ERROR_REASON_").size())) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? c : static_cast<char>(c - 'A' + 'a');
    upper = false;
  }
  return out;
}

TEST(Status, ReasonHasTheNamesAndNumbersOfErrorReason) {
  const auto* descriptor = common::v1::ErrorReason_descriptor();
  for (int i = 0; i < descriptor->value_count(); ++i) {
    const auto* value = descriptor->value(i);
    EXPECT_EQ(NameOf(static_cast<Reason>(value->number())), ConstantName(value->name()));
  }
  for (int number = 0; number < 200; ++number) {
    const bool in_enum = NameOf(static_cast<Reason>(number))[0] == 'k';
    EXPECT_EQ(in_enum, common::v1::ErrorReason_IsValid(number)) << number;
  }
}

TEST(Status, EveryMakerSetsItsCodeAndReason) {
  using std::chrono::milliseconds;
  const struct {
    Status status;
    StatusCode code;
    Reason reason;
  } cases[] = {
      {InvalidField("a", "b"), StatusCode::kInvalidArgument, Reason::kInvalidField},
      {InvalidPageToken("b"), StatusCode::kInvalidArgument, Reason::kInvalidPageToken},
      {NotFound("item", "x"), StatusCode::kNotFound, Reason::kResourceNotFound},
      {AlreadyExists("category", "x"), StatusCode::kAlreadyExists, Reason::kResourceAlreadyExists},
      {FailedPrecondition("b"), StatusCode::kFailedPrecondition, Reason::kStateForbids},
      {FailedPrecondition("b", Reason::kStaleToken), StatusCode::kFailedPrecondition,
       Reason::kStaleToken},
      {Aborted(Reason::kStaleEtag, "b"), StatusCode::kAborted, Reason::kStaleEtag},
      {DeadlineExceeded("b"), StatusCode::kDeadlineExceeded, Reason::kDeadlineTooShort},
      {Overloaded("b", milliseconds(5)), StatusCode::kResourceExhausted, Reason::kOverloaded},
      {Unavailable(Reason::kPeerUnavailable, "b", milliseconds(5)), StatusCode::kUnavailable,
       Reason::kPeerUnavailable},
      {Internal("b"), StatusCode::kInternal, Reason::kInternal},
  };
  for (const auto& [status, code, reason] : cases) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(ReasonOf(status), reason) << status;
  }
}

TEST(Status, ErrorInfoIsSpelledAsTheApiPromises) {
  const auto payload =
      FailedPrecondition("x").GetPayload("type.googleapis.com/google.rpc.ErrorInfo");
  ASSERT_TRUE(payload.has_value());
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(std::string(*payload)));
  EXPECT_EQ(info.domain(), "winnow");
  EXPECT_EQ(info.reason(), "STATE_FORBIDS");
}

TEST(Status, ViolationsComeBackAllAndInOrder) {
  Violations violations;
  EXPECT_TRUE(violations.ToStatus().ok());
  for (int i = 0; i < 9; ++i) violations.Add("items[" + std::to_string(i) + "]", "is bad");
  const Status status = violations.ToStatus();
  const auto read = ViolationsOf(status);
  ASSERT_EQ(read.size(), 9u);
  EXPECT_EQ(read[8].field, "items[8]");
  EXPECT_EQ(read[8].description, "is bad");
}

TEST(Status, MessageSpellsOutTheFirstViolationsAndCountsTheRest) {
  Violations violations;
  for (int i = 0; i < 9; ++i) violations.Add("f" + std::to_string(i), "is bad");
  const std::string message = Message(violations.ToStatus());
  EXPECT_THAT(message, HasSubstr("f0: is bad; f1: is bad"));
  EXPECT_THAT(message, HasSubstr("and 4 more"));
  EXPECT_THAT(message, Not(HasSubstr("f5")));
}

TEST(Status, AViolationWithoutFieldHasNoColonBeforeIt) {
  EXPECT_EQ(Message(InvalidField("", "is too long")), "is too long");
}

TEST(Status, RetryAfterComesBack) {
  using std::chrono::milliseconds;
  EXPECT_EQ(RetryAfterOf(Overloaded("q", milliseconds(1250))), milliseconds(1250));
  EXPECT_EQ(RetryAfterOf(Overloaded("q", milliseconds(-3))), milliseconds(0));
  EXPECT_EQ(RetryAfterOf(InvalidField("a", "b")), std::nullopt);
}

TEST(Status, MetadataNamesTheResource) {
  EXPECT_THAT(MetadataOf(NotFound("item", "i-1")),
              UnorderedElementsAre(Pair("resource", "item"), Pair("id", "i-1")));
  EXPECT_EQ(Message(NotFound("item", "i-1")), "item \"i-1\" does not exist");
}

TEST(Status, StatusesMadeElsewhereHaveNoReasonAndNoDetails) {
  for (const Status& status : {OkStatus(), Status(StatusCode::kUnknown, "boom")}) {
    EXPECT_EQ(ReasonOf(status), Reason::kUnspecified);
    EXPECT_TRUE(ViolationsOf(status).empty());
    EXPECT_EQ(RetryAfterOf(status), std::nullopt);
    EXPECT_TRUE(MetadataOf(status).empty());
  }
}

TEST(Status, BytesThatAreNotUtf8NeverReachTheDetails) {
  const Status status = InvalidField("na\xFFme", "is \xC3");
  const auto read = ViolationsOf(status);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].field, "na\xEF\xBF\xBDme");
  EXPECT_EQ(read[0].description, "is \xEF\xBF\xBD");
}

StatusOr<int> Half(int n) {
  if (n % 2 != 0) return InvalidField("n", "must be even");
  return n / 2;
}

StatusOr<int> Quarter(int n) {
  WINNOW_ASSIGN_OR_RETURN(const int half, Half(n));
  WINNOW_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Status, MacrosHandErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(ReasonOf(Quarter(6).status()), Reason::kInvalidField);
}

}  // namespace
}  // namespace winnow
