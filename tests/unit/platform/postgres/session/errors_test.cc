#include "services/platform/postgres/session/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/platform/postgres/session/connection_settings.h"

namespace winnow::pg {
namespace {

using testing::HasSubstr;
using testing::Not;

StatusCode CodeOf(const std::string& sqlstate) {
  return ClassifySqlState(sqlstate, "detail").status.code();
}

TEST(PostgresErrors, FollowTheErrorTable) {
  EXPECT_EQ(CodeOf("40001"), StatusCode::kAborted);
  EXPECT_EQ(CodeOf("40P01"), StatusCode::kAborted);
  EXPECT_EQ(CodeOf("57014"), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(CodeOf("55P03"), StatusCode::kUnavailable);
  EXPECT_EQ(CodeOf("23505"), StatusCode::kAlreadyExists);
  for (const char* away : {"08006", "57P01", "57P03", "53300", "25006", "25P03"}) {
    EXPECT_EQ(CodeOf(away), StatusCode::kUnavailable) << away;
    EXPECT_TRUE(ClassifySqlState(away, "").connection_lost) << away;
  }
  const Failure full = ClassifySqlState("53100", "");
  EXPECT_EQ(full.status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(full.status), HasSubstr("disk is full"));
  EXPECT_GE(RetryAfterOf(full.status), std::chrono::seconds(1));
  EXPECT_FALSE(full.connection_lost);  // another would be no better
  for (const char* ours : {"42601", "42P01", "22P02", "23502", ""}) {
    EXPECT_EQ(CodeOf(ours), StatusCode::kInternal) << ours;
  }
}

TEST(PostgresErrors, OnlyUndoneTransactionsAreTriedAgain) {
  EXPECT_TRUE(ClassifySqlState("40001", "").may_retry);
  EXPECT_TRUE(ClassifySqlState("40P01", "").may_retry);
  EXPECT_FALSE(ClassifySqlState("40003", "").may_retry);
  EXPECT_FALSE(ClassifySqlState("57014", "").may_retry);
}

TEST(PostgresErrors, UnavailableSaysWhenToRetry) {
  const Status status = ClassifySqlState("55P03", "").status;
  EXPECT_EQ(ReasonOf(status), Reason::kStoreUnavailable);
  EXPECT_TRUE(RetryAfterOf(status).has_value());
}

std::string Conninfo(const std::string& url, const std::string& password = "") {
  const auto settings = ParseUrl(url, password, "winnow-read");
  return settings.ok() ? settings->conninfo : "error: " + Message(settings.status());
}

TEST(PostgresUrl, TakesPoolingOutOfUrlAndKeywords) {
  for (const char* url :
       {"postgres://u@h/d?pooling=transaction",
        "postgres://u@h/d?pooling=transaction&sslmode=disable",
        "postgres://u@h/d?sslmode=disable&pooling=transaction",
        "postgres://u@h/d?a=b&pooling=transaction&sslmode=disable", "pooling=transaction host=h",
        "host=h pooling=transaction dbname=d", "host=h pooling=transaction"}) {
    std::string text = url;
    if (const size_t at = text.find("a=b&"); at != std::string::npos) text.erase(at, 4);
    const auto settings = ParseUrl(text, "", "");
    ASSERT_TRUE(settings.ok()) << text;
    EXPECT_TRUE(settings->transaction_pooling) << text;
    EXPECT_THAT(settings->conninfo, HasSubstr("host='h'"));
    EXPECT_THAT(settings->conninfo, Not(HasSubstr("pooling")));
  }
  EXPECT_FALSE(ParseUrl("postgres://u@h/pooling=transaction", "", "")->transaction_pooling);
  EXPECT_FALSE(ParseUrl("postgres://u@h/d?pooling=session", "", "")->transaction_pooling);
  EXPECT_THAT(Conninfo("host=h pooling=statement"), HasSubstr("`transaction` or `session`"));
}

TEST(PostgresUrl, AddsTimeoutsUnlessTheUrlSetsThem) {
  EXPECT_THAT(Conninfo("postgres://u@h/d"), HasSubstr("connect_timeout='5'"));
  EXPECT_THAT(Conninfo("postgres://u@h/d?connect_timeout=30"), HasSubstr("connect_timeout='30'"));
  EXPECT_THAT(Conninfo("postgres://u@h/d"), HasSubstr("application_name='winnow-read'"));
}

TEST(PostgresUrl, QuotesValuesAndTakesThePasswordFromElsewhere) {
  EXPECT_THAT(Conninfo("host=h", "it's \\ hard"), HasSubstr(R"(password='it\'s \\ hard')"));
}

TEST(PostgresUrl, AnErrorNeverShowsThePassword) {
  EXPECT_THAT(Conninfo("postgres://u:secret@[h/d"), Not(HasSubstr("secret")));
  EXPECT_THAT(Conninfo("postgres://u:secret@h/d?nonsense=1"),
              testing::AllOf(HasSubstr("cannot be read"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace winnow::pg
