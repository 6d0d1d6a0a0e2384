#include <gtest/gtest.h>

#include "services/platform/postgres/session/connection.h"
#include "services/platform/postgres/session/session.h"

namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time At(int year, unsigned month, unsigned day, Micros of_day = Micros(0)) {
  return std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) /
                               static_cast<int>(day)) +
         of_day;
}

TEST(PostgresArray, QuotesWhatTheLiteralWouldReadOtherwise) {
  Array array;
  array.Add("plain");
  array.Add("a,b {c} \"d\" \\ NULL");
  array.Add("");
  array.AddNull();
  array.Add(std::optional<std::string>());
  array.Add(std::optional<std::string>("뉴스"));
  EXPECT_EQ(array.ToString(), R"({"plain","a,b {c} \"d\" \\ NULL","",NULL,NULL,"뉴스"})");
}

TEST(PostgresArray, WritesEveryType) {
  Array array;
  EXPECT_EQ(array.ToString(), "{}");
  array.Add(int64_t{-5});
  array.Add(7);
  array.Add(size_t{8});
  array.Add(true);
  array.Add(0.1);
  array.Add(At(2026, 2, 3));
  array.AddBytes(std::string("\0\xff", 2));
  EXPECT_EQ(array.ToString(), R"({-5,7,8,t,0.1,"2026-02-03 00:00:00.000000+00","\\x00ff"})");
}

TEST(PostgresTime, KeepsMicrosecondsFromYear1To9999) {
  EXPECT_EQ(ToParameter(At(1, 1, 1)), "0001-01-01 00:00:00.000000+00");
  EXPECT_EQ(ToParameter(At(1969, 12, 31, Micros(1))), "1969-12-31 00:00:00.000001+00");
  EXPECT_EQ(ToParameter(At(9999, 12, 31, std::chrono::hours(24) - Micros(1))),
            "9999-12-31 23:59:59.999999+00");
  EXPECT_THROW(ToParameter(At(10000, 1, 1)), std::invalid_argument);
  EXPECT_THROW(ToParameter(At(0, 12, 31)), std::invalid_argument);
  EXPECT_EQ(ToParameter(std::optional<Time>()), std::nullopt);
}

TEST(PostgresStatementTimeout, IsLessThanASecondAfterTheDeadline) {
  EXPECT_EQ(StatementTimeout(milliseconds(1)), milliseconds(100));
  EXPECT_EQ(StatementTimeout(milliseconds(100)), milliseconds(100));
  EXPECT_EQ(StatementTimeout(milliseconds(101)), milliseconds(500));
  EXPECT_EQ(StatementTimeout(milliseconds(501)), seconds(1));
  EXPECT_EQ(StatementTimeout(seconds(30)), seconds(30));
  EXPECT_EQ(StatementTimeout(milliseconds(30'001)), seconds(31));
  EXPECT_EQ(StatementTimeout(std::chrono::hours(100)), std::chrono::hours(1));
  EXPECT_EQ(StatementTimeout(std::chrono::steady_clock::duration::max()), std::chrono::hours(1));
}

}  // namespace
}  // namespace winnow::pg
