#include "services/platform/base/timestamp.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "absl/time/time.h"
#include "services/platform/base/ascii.h"

namespace winnow {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::seconds;

constexpr size_t kDateSize = 10;  // "2026-02-01"
constexpr size_t kSecondAt = 17;

Status Bad(std::string description) { return InvalidField("", std::move(description)); }

// "2026-02-01T09:00:00.5+09:00" and its like, whatever the digits say. Abseil alone would take
// white space, years of any length and one-digit months too.
bool HasShape(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  const auto matches = [&text](std::string_view shape) {
    const bool fits = text.size() >= shape.size() &&
                      std::equal(shape.begin(), shape.end(), text.begin(), [](char want, char c) {
                        if (want == 'd') return IsAsciiDigit(c);
                        return want == 'T' ? c == 'T' || c == 't' || c == ' ' : want == c;
                      });
    if (fits) text.remove_prefix(shape.size());
    return fits;
  };
  const bool space = text.size() > kDateSize && text[kDateSize] == ' ';
  if (!matches(kShape)) return false;
  if (matches(".")) {
    if (!matches("d")) return false;
    while (matches("d")) {
    }
  }
  if (text.empty()) return space;
  return text == "Z" || text == "z" ||
         ((matches("+") || matches("-")) && matches("dd:dd") && text.empty());
}

}  // namespace

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
  if (!HasShape(text)) {
    return Bad(
        "is not an RFC 3339 time: write it like 2026-02-01T09:00:00+09:00 or "
        "2026-02-01T00:00:00Z");
  }
  std::string spelled(text);
  spelled[kDateSize] = 'T';
  if (spelled.back() == 'z') spelled.back() = 'Z';
  if (IsAsciiDigit(spelled.back()) && spelled.find_first_of("+-", kDateSize) == std::string::npos) {
    spelled += 'Z';
  }
  const bool leap = spelled.compare(kSecondAt, 2, "60") == 0;
  if (leap) spelled.replace(kSecondAt, 2, "59");  // Abseil would drop its fraction
  absl::Time parsed;
  if (!absl::ParseTime(absl::RFC3339_full, spelled, &parsed, nullptr)) {
    return Bad("names a date, time or offset that does not exist");
  }
  const Time time = Time(Micros(absl::ToUnixMicros(parsed))) + seconds(leap ? 1 : 0);
  const int64_t whole = floor<seconds>(time).time_since_epoch().count();
  if (whole < kMinSeconds || whole > kMaxSeconds) return Bad("must be in the years 1 to 9999");
  // A leap second is the last of a UTC day; it counts as the first second of the next.
  if (leap && whole % 86'400 != 0) {
    return Bad("has a second 60 that is not the end of a UTC day");
  }
  return time;
}

}  // namespace winnow
