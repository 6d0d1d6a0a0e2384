#include "services/platform/proto/timestamp.h"

#include <gtest/gtest.h>

#include <random>

#include "services/platform/base/timestamp.h"

namespace winnow {
namespace {

using google::protobuf::Duration;
using google::protobuf::Timestamp;

constexpr int64_t kMinMicros = -62'135'596'800'000'000;
constexpr int64_t kMaxMicros = 253'402'300'799'999'999;

Timestamp MakeTimestamp(int64_t seconds, int32_t nanos) {
  Timestamp timestamp;
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(nanos);
  return timestamp;
}

Duration MakeDuration(int64_t seconds, int32_t nanos) {
  Duration duration;
  duration.set_seconds(seconds);
  duration.set_nanos(nanos);
  return duration;
}

std::string Parsed(std::string_view text) {
  const auto time = ParseTime(text);
  return time.ok() ? FormatTime(*time) : "bad";
}

TEST(Timestamp, EveryTimeComesBackFromTimestampAndText) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> any(kMinMicros, kMaxMicros);
  for (int i = 0; i < 20'000; ++i) {
    const Time time{Micros(any(random))};
    ASSERT_EQ(*FromTimestamp(ToTimestamp(time)), time) << time.time_since_epoch().count();
    ASSERT_EQ(*ParseTime(FormatTime(time)), time) << FormatTime(time);
  }
}

TEST(Timestamp, TheFirstAndTheLastMicrosecondAreTimes) {
  EXPECT_EQ(FormatTime(Time(Micros(kMinMicros))), "0001-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(Time(Micros(kMaxMicros))), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(FromTimestamp(MakeTimestamp(253'402'300'799, 999'999'999))->time_since_epoch().count(),
            kMaxMicros);
}

TEST(Timestamp, NanosAreTruncatedNotRounded) {
  EXPECT_EQ(FromTimestamp(MakeTimestamp(0, 1'999))->time_since_epoch().count(), 1);
  EXPECT_EQ(FromTimestamp(MakeTimestamp(-1, 999'999'999))->time_since_epoch().count(), -1);
}

TEST(Timestamp, OutsideYears1To9999IsRefused) {
  for (const auto& bad : {MakeTimestamp(-62'135'596'801, 0), MakeTimestamp(253'402'300'800, 0),
                          MakeTimestamp(INT64_MAX, 0), MakeTimestamp(INT64_MIN, 0),
                          MakeTimestamp(0, -1), MakeTimestamp(0, 1'000'000'000)}) {
    const auto time = FromTimestamp(bad);
    ASSERT_FALSE(time.ok()) << bad.ShortDebugString();
    const auto violations = ViolationsOf(time.status());
    ASSERT_EQ(violations.size(), 1u);
    EXPECT_EQ(violations[0].field, "");
  }
}

TEST(Timestamp, EveryDurationComesBack) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<int64_t> any(-315'576'000'000'000'000, 315'576'000'000'000'000);
  for (int i = 0; i < 20'000; ++i) {
    const Micros duration(any(random));
    ASSERT_EQ(*FromDuration(ToDuration(duration)), duration);
  }
}

TEST(Timestamp, MalformedDurationsAreRefused) {
  for (const auto& bad : {MakeDuration(315'576'000'001, 0), MakeDuration(-315'576'000'001, 0),
                          MakeDuration(0, 1'000'000'000), MakeDuration(1, -1), MakeDuration(-1, 1),
                          MakeDuration(INT64_MIN, 0)}) {
    EXPECT_FALSE(FromDuration(bad).ok()) << bad.ShortDebugString();
  }
}

TEST(Timestamp, FractionsAreShownWhenThereAreAny) {
  EXPECT_EQ(FormatTime(Time(Micros(0))), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(Time(Micros(1'500'000))), "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(FormatTime(Time(Micros(-1))), "1969-12-31T23:59:59.999999Z");
}

TEST(Timestamp, Rfc3339FormsAreRead) {
  EXPECT_EQ(Parsed("2026-02-01T00:00:00Z"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-02-01t00:00:00z"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-02-01T09:00:00+09:00"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-01-31T19:30:00-04:30"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-02-01 00:00:00"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-02-01 09:00:00+09:00"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Parsed("2026-02-01T00:00:00.1234567899Z"), "2026-02-01T00:00:00.123456Z");
  EXPECT_EQ(Parsed("2024-02-29T23:59:59Z"), "2024-02-29T23:59:59Z");
  EXPECT_EQ(Parsed("2016-12-31T23:59:60Z"), "2017-01-01T00:00:00Z");
  EXPECT_EQ(Parsed("2017-01-01T08:59:60+09:00"), "2017-01-01T00:00:00Z");
}

TEST(Timestamp, OtherFormsAreRefused) {
  for (const char* bad : {"",
                          "now",
                          "2026-02-01",
                          "2026-02-01T00:00:00",
                          "2026-02-01T00:00Z",
                          "2026-2-1T00:00:00Z",
                          "2026-02-30T00:00:00Z",
                          "2025-02-29T00:00:00Z",
                          "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z",
                          "2026-01-00T00:00:00Z",
                          "2026-02-01T24:00:00Z",
                          "2026-02-01T00:60:00Z",
                          "2026-02-01T00:00:61Z",
                          "2026-02-01T12:00:60Z",
                          "2026-02-01T00:00:00.Z",
                          "2026-02-01T00:00:00Zjunk",
                          "2026-02-01T00:00:00+9:00",
                          "2026-02-01T00:00:00+0900",
                          "2026-02-01T00:00:00+24:00",
                          "2026-02-01T00:00:00+00:60",
                          "0000-12-31T23:59:59Z",
                          "0001-01-01T00:00:00+00:01",
                          "9999-12-31T23:59:59-00:01",
                          "9999-12-31T23:59:60Z",
                          "-2026-02-01T00:00:00Z",
                          " 2026-02-01T00:00:00Z",
                          "Sun, 01 Feb 2026 00:00:00 GMT"}) {
    const auto time = ParseTime(bad);
    ASSERT_FALSE(time.ok()) << bad;
    EXPECT_EQ(ViolationsOf(time.status()).size(), 1u) << bad;
  }
}

}  // namespace
}  // namespace winnow
