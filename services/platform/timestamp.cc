#include "services/platform/timestamp.h"

#include <array>
#include <cstdio>
#include <optional>

namespace winnow {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::seconds;

constexpr int64_t kMinSeconds = -62'135'596'800;  // 0001-01-01T00:00:00Z
constexpr int64_t kMaxSeconds = 253'402'300'799;  // 9999-12-31T23:59:59Z
constexpr int64_t kMaxDurationSeconds = 315'576'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

Status Bad(std::string description) { return InvalidField("", std::move(description)); }

// Reads a text from the left; one failure makes everything after it fail.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Exactly `digits` decimal digits.
  int Number(size_t digits) {
    if (text_.size() < digits) return Fail();
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return Fail();
      value = value * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return value;
  }
  bool Take(std::string_view any_of) {
    if (text_.empty() || any_of.find(text_[0]) == std::string_view::npos) return false;
    last_ = text_[0];
    text_.remove_prefix(1);
    return true;
  }
  void Expect(std::string_view any_of) {
    if (!Take(any_of)) Fail();
  }
  // Digits after a decimal point, truncated to microseconds.
  int64_t Fraction() {
    int64_t value = 0;
    int64_t weight = 100'000;
    size_t used = 0;
    for (; used < text_.size() && text_[used] >= '0' && text_[used] <= '9'; ++used) {
      value += weight * (text_[used] - '0');
      weight /= 10;
    }
    if (used == 0) return Fail();
    text_.remove_prefix(used);
    return value;
  }
  char last() const { return last_; }
  bool ok() const { return ok_; }
  bool done() const { return text_.empty(); }

 private:
  int Fail() {
    ok_ = false;
    text_ = {};
    return 0;
  }
  std::string_view text_;
  char last_ = 0;
  bool ok_ = true;
};

struct Fields {
  int year, month, day, hour, minute, second;
  int64_t micros = 0;
  int offset_minutes = 0;
  bool offset_in_range = true;
};

std::optional<Fields> Scan(std::string_view text) {
  Scanner in(text);
  Fields fields{};
  fields.year = in.Number(4);
  in.Expect("-");
  fields.month = in.Number(2);
  in.Expect("-");
  fields.day = in.Number(2);
  in.Expect("Tt ");
  const bool space = in.last() == ' ';
  fields.hour = in.Number(2);
  in.Expect(":");
  fields.minute = in.Number(2);
  in.Expect(":");
  fields.second = in.Number(2);
  if (in.Take(".")) fields.micros = in.Fraction();
  fields.offset_in_range = true;
  if (in.done()) {
    if (!space) return std::nullopt;
  } else if (!in.Take("Zz")) {
    in.Expect("+-");
    const int sign = in.last() == '-' ? -1 : 1;
    const int hours = in.Number(2);
    in.Expect(":");
    const int minutes = in.Number(2);
    fields.offset_in_range = hours < 24 && minutes < 60;
    fields.offset_minutes = sign * (hours * 60 + minutes);
  }
  if (!in.ok() || !in.done()) return std::nullopt;
  return fields;
}

bool InRange(const Fields& fields, std::chrono::year_month_day date) {
  return date.ok() && fields.hour < 24 && fields.minute < 60 && fields.second <= 60 &&
         fields.offset_in_range;
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(Time time) {
  const auto whole = floor<seconds>(time);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(whole.time_since_epoch().count());
  timestamp.set_nanos(static_cast<int32_t>((time - whole).count() * 1000));
  return timestamp;
}

StatusOr<Time> FromTimestamp(const google::protobuf::Timestamp& timestamp) {
  if (timestamp.seconds() < kMinSeconds || timestamp.seconds() > kMaxSeconds) {
    return Bad("must be a time in the years 1 to 9999: seconds is " +
               std::to_string(timestamp.seconds()));
  }
  if (timestamp.nanos() < 0 || timestamp.nanos() >= kNanosPerSecond) {
    return Bad("nanos must be 0 to 999,999,999, not " + std::to_string(timestamp.nanos()));
  }
  return Time(seconds(timestamp.seconds()) + Micros(timestamp.nanos() / 1000));
}

google::protobuf::Duration ToDuration(Micros duration) {
  google::protobuf::Duration out;  // seconds and nanos have the same sign
  out.set_seconds(duration.count() / 1'000'000);
  out.set_nanos(static_cast<int32_t>(duration.count() % 1'000'000) * 1000);
  return out;
}

StatusOr<Micros> FromDuration(const google::protobuf::Duration& duration) {
  const int64_t whole = duration.seconds();
  const int64_t nanos = duration.nanos();
  if (whole < -kMaxDurationSeconds || whole > kMaxDurationSeconds) {
    return Bad("must be within 10,000 years: seconds is " + std::to_string(whole));
  }
  if (nanos <= -kNanosPerSecond || nanos >= kNanosPerSecond) {
    return Bad("nanos must be under one second, not " + std::to_string(nanos));
  }
  if ((whole > 0 && nanos < 0) || (whole < 0 && nanos > 0)) {
    return Bad("seconds and nanos must have the same sign");
  }
  return Micros(whole * 1'000'000 + nanos / 1000);
}

std::string FormatTime(Time time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 48> buffer;
  const auto micros = static_cast<int>(clock.subseconds().count());
  int size = std::snprintf(
      buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  std::string out(buffer.data(), static_cast<size_t>(size));
  if (micros != 0) {
    const bool millis = micros % 1000 == 0;
    size = std::snprintf(buffer.data(), buffer.size(), millis ? ".%03d" : ".%06d",
                         millis ? micros / 1000 : micros);
    out.append(buffer.data(), static_cast<size_t>(size));
  }
  return out + "Z";
}

StatusOr<Time> ParseTime(std::string_view text) {
  const auto fields = Scan(text);
  if (!fields) {
    return Bad(
        "is not an RFC 3339 time: write it like 2026-02-01T09:00:00+09:00 or "
        "2026-02-01T00:00:00Z");
  }
  const std::chrono::year_month_day date(std::chrono::year(fields->year),
                                         std::chrono::month(static_cast<unsigned>(fields->month)),
                                         std::chrono::day(static_cast<unsigned>(fields->day)));
  if (!InRange(*fields, date)) {
    return Bad("names a date, time or offset that does not exist");
  }
  const Time time = std::chrono::sys_days(date) + std::chrono::hours(fields->hour) +
                    std::chrono::minutes(fields->minute - fields->offset_minutes) +
                    seconds(fields->second) + Micros(fields->micros);
  const int64_t whole = floor<seconds>(time).time_since_epoch().count();
  if (whole < kMinSeconds || whole > kMaxSeconds) return Bad("must be in the years 1 to 9999");
  // A leap second is the last of a UTC day; it counts as the first second of the next.
  if (fields->second == 60 && whole % 86'400 != 0) {
    return Bad("has a second 60 that is not the end of a UTC day");
  }
  return time;
}

}  // namespace winnow
