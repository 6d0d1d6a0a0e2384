#include "services/platform/postgres/session/binary_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/platform/postgres/pool/pool.h"
#include "services/platform/process/metrics.h"
#include "tests/support/postgres/postgres.h"

namespace winnow::pg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

// What the server makes of an array, element by element in text form.
class PostgresBinaryArray : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> Echo(const Statement& statement, const BinaryArray& array) {
    const std::string url =
        test::Postgres::Instance().server().UrlOf("postgres") + std::string(GetParam());
    Metrics metrics;
    Pool pool({.name = "test", .url = url, .password = "", .connections = 1}, metrics);
    using Texts = std::vector<std::string>;
    const auto echoed = pool.Statements(Soon(), [&](Session& session) -> StatusOr<Texts> {
      Texts texts;
      for (const auto& row : session.Execute(statement, array, "after")) {
        EXPECT_EQ(row[1].as<std::string>(), "after");
        texts.push_back(row[0].as<std::string>());
      }
      return texts;
    });
    EXPECT_TRUE(echoed.ok()) << echoed.status();
    return echoed.ok() ? *echoed : Texts{};
  }
};

TEST_P(PostgresBinaryArray, OfTextsNeedsNoEscapes) {
  BinaryArray array(BinaryArray::kText);
  for (const char* text : {"", "NULL", R"({"a","b\"})", "한글 '\n\t"}) array.AddText(text);
  EXPECT_THAT(Echo({"test.binary_text", "SELECT t, $2::text FROM unnest($1::text[]) t"}, array),
              ElementsAre("", "NULL", R"({"a","b\"})", "한글 '\n\t"));
}

TEST_P(PostgresBinaryArray, OfNothingIsEmpty) {
  const BinaryArray array(BinaryArray::kText);
  EXPECT_THAT(Echo({"test.binary_none", "SELECT t, $2::text FROM unnest($1::text[]) t"}, array),
              IsEmpty());
}

TEST_P(PostgresBinaryArray, KeepsNumbersUuidsBytesAndTimes) {
  BinaryArray numbers(BinaryArray::kBigint);
  for (const int64_t number : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    numbers.AddNumber(number);
  }
  EXPECT_THAT(
      Echo({"test.binary_number", "SELECT n, $2::text FROM unnest($1::bigint[]) n"}, numbers),
      ElementsAre("-9223372036854775808", "-1", "0", "9223372036854775807"));

  BinaryArray doubles(BinaryArray::kDouble);
  for (const double number : {0.1, -1e300}) doubles.AddDouble(number);
  doubles.AddNull();
  EXPECT_THAT(Echo({"test.binary_double",
                    "SELECT coalesce(n::text, 'none'), $2::text FROM unnest($1::float8[]) n"},
                   doubles),
              ElementsAre("0.1", "-1e+300", "none"));

  BinaryArray uuids(BinaryArray::kUuid);
  uuids.AddUuid("0190a1B2-c3d4-7e5f-8a9b-0c1d2e3f4a5b");
  uuids.AddUuid("0190a1b2c3d47e5f8a9b0c1d2e3f4a5b");
  uuids.AddUuid(0xFEDCBA9876543210, 0x0123456789ABCDEF);
  EXPECT_THAT(
      Echo({"test.binary_uuid", "SELECT u, $2::text FROM unnest($1::uuid[]) u"}, uuids),
      ElementsAre("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
                  "fedcba98-7654-3210-0123-456789abcdef"));

  BinaryArray bytes(BinaryArray::kBytea);
  bytes.AddBytes(std::string("\0\xff\\", 3));
  EXPECT_THAT(
      Echo({"test.binary_bytes", "SELECT encode(b, 'hex'), $2::text FROM unnest($1::bytea[]) b"},
           bytes),
      ElementsAre("00ff5c"));

  BinaryArray times(BinaryArray::kTimestamptz);
  times.AddTime(Time(std::chrono::sys_days(std::chrono::year(1) / 1 / 1)));
  times.AddTime(Time(std::chrono::sys_days(std::chrono::year(2026) / 2 / 1)) + Micros(1));
  times.AddTime(Time(std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1)) - Micros(1));
  EXPECT_THAT(Echo({"test.binary_time",
                    "SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), $2::text"
                    " FROM unnest($1::timestamptz[]) t"},
                   times),
              ElementsAre("0001-01-01 00:00:00.000000", "2026-02-01 00:00:00.000001",
                          "9999-12-31 23:59:59.999999"));
}

// Prepared statements and, for a transaction pooler, statements sent with their text.
INSTANTIATE_TEST_SUITE_P(BothWays, PostgresBinaryArray,
                         testing::Values("", "&pooling=transaction"));

TEST(BinaryArray, RefusesWhatIsNoUuid) {
  BinaryArray array(BinaryArray::kUuid);
  for (const char* text :
       {"", "0190a1b2", "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b00", "0190a1b2c3d47e5f8a9b0c1d2e3f4a5g"}) {
    EXPECT_THROW(array.AddUuid(text), std::invalid_argument) << text;
  }
}

TEST(BinaryArray, ComesBeforeOtherParameters) {
  Parameters parameters;
  parameters.Add(1);
  EXPECT_THROW(parameters.Add(BinaryArray(BinaryArray::kText)), std::logic_error);
}

}  // namespace
}  // namespace winnow::pg
