#include "services/classification/comments/raw_time.h"

#include <charconv>

namespace winnow::classification {
namespace {

// Digits at [at, at + count), or -1.
int Digits(std::string_view text, size_t at, size_t count) {
  if (text.size() < at + count) return -1;
  int number = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    number = number * 10 + (text[i] - '0');
  }
  return number;
}

std::optional<Time> FromSeconds(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kYear2100 = 4102444800;
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > kYear2100) {
    return std::nullopt;
  }
  return Time(Micros(static_cast<int64_t>(seconds * 1e6)));
}

}  // namespace

std::optional<Time> ParseRawTime(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':') {
    return FromSeconds(text);
  }
  const int year = Digits(text, 0, 4), month = Digits(text, 5, 2), day = Digits(text, 8, 2);
  const int hour = Digits(text, 11, 2), minute = Digits(text, 14, 2), second = Digits(text, 17, 2);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 1970 || month < 1 || day < 1 || !date.ok() || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  Time time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
              std::chrono::minutes(minute) + std::chrono::seconds(second);
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    int64_t unit = 100'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) {
      time += Micros(unit * (text[at] - '0'));
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    const int hours = Digits(text, at + 1, 2);
    const int minutes = Digits(text, at + 4, 2);
    if (hours < 0 || minutes < 0) return std::nullopt;
    const auto offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    time += text[at] == '-' ? Micros(offset) : -Micros(offset);
  }
  return time;
}

}  // namespace winnow::classification
