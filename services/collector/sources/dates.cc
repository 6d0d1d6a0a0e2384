#include "services/collector/sources/dates.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "services/platform/base/ascii.h"

namespace winnow::collector {
namespace {

constexpr size_t kLongest = 100;
constexpr int kDay = 24 * 60;

struct Zone {
  std::string_view name;
  int minutes;
};
constexpr Zone kZones[] = {
    {"gmt", 0},    {"ut", 0},     {"utc", 0},    {"z", 0},      {"est", -300}, {"edt", -240},
    {"cst", -360}, {"cdt", -300}, {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420},
    {"kst", 540},  {"jst", 540},  {"cet", 60},   {"cest", 120}, {"bst", 60}};
constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};

struct Fields {
  int year = -1;
  int month = -1;
  int day = -1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int64_t micros = 0;
  std::optional<int> zone;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void SkipSpace() {
    while (!text_.empty() && (text_.front() <= ' ' || text_.front() == ',')) text_.remove_prefix(1);
  }
  bool done() const { return text_.empty(); }
  char front() const { return text_.empty() ? '\0' : text_.front(); }
  bool Take(char c) {
    if (front() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool TakeOneOf(std::string_view set) {
    return !text_.empty() && set.find(text_.front()) != std::string_view::npos && Take(front());
  }
  // A number of `least` to `most` digits; -1 if there is none.
  int Number(size_t least, size_t most) {
    size_t size = 0;
    int value = 0;
    while (size < text_.size() && size < most && IsAsciiDigit(text_[size])) {
      value = value * 10 + (text_[size++] - '0');
    }
    if (size < least) return -1;
    last_size_ = size;
    text_.remove_prefix(size);
    return value;
  }
  size_t last_size() const { return last_size_; }
  std::string Word() {
    std::string word;
    while (!text_.empty() && IsAsciiLetter(text_.front())) {
      word += ToLowerAscii(text_.front());
      text_.remove_prefix(1);
    }
    return word;
  }

 private:
  std::string_view text_;
  size_t last_size_ = 0;
};

int MonthOf(std::string_view word) {
  if (word.size() < 3) return -1;
  const auto* found = std::find(std::begin(kMonths), std::end(kMonths), word.substr(0, 3));
  return found == std::end(kMonths) ? -1 : static_cast<int>(found - kMonths) + 1;
}

// "08:21", "08:21:00", "08:21:00.5"
bool ReadClock(Scanner& in, Fields& fields) {
  fields.hour = in.Number(1, 2);
  if (fields.hour < 0 || !in.Take(':')) return false;
  fields.minute = in.Number(1, 2);
  if (fields.minute < 0) return false;
  if (!in.Take(':')) return true;
  fields.second = in.Number(1, 2);
  if (fields.second < 0) return false;
  if (!in.TakeOneOf(".,")) return true;
  int64_t unit = 100'000;
  while (IsAsciiDigit(in.front())) {
    fields.micros += unit * in.Number(1, 1);
    unit /= 10;
  }
  return true;
}

// "+0900", "+09:00", "+9", "GMT", "GMT+9"; nothing is fine too.
bool ReadZone(Scanner& in, Fields& fields) {
  in.SkipSpace();
  if (const std::string word = in.Word(); !word.empty()) {
    const auto* found = std::find_if(std::begin(kZones), std::end(kZones),
                                     [&](const Zone& zone) { return zone.name == word; });
    if (found == std::end(kZones)) return false;
    fields.zone = found->minutes;
  }
  const bool minus = in.front() == '-';
  if (in.TakeOneOf("+-")) {
    int hours = in.Number(1, 4);
    int minutes = 0;
    if (hours < 0) return false;
    if (in.last_size() > 2) {
      minutes = hours % 100;
      hours /= 100;
    } else if (in.Take(':')) {
      minutes = in.Number(2, 2);
    }
    if (hours > 15 || minutes < 0 || minutes > 59) return false;
    fields.zone = (minus ? -1 : 1) * (hours * 60 + minutes) + fields.zone.value_or(0);
  }
  return true;
}

// "2024-07-20T08:21:00Z" and its like.
bool ReadIso(Scanner& in, Fields& fields) {
  fields.year = in.Number(4, 4);
  if (!in.TakeOneOf("-./")) return false;
  fields.month = in.Number(1, 2);
  if (!in.TakeOneOf("-./")) return false;
  fields.day = in.Number(1, 2);
  in.Take('.');
  if (!in.TakeOneOf("Tt")) in.SkipSpace();
  if (in.done()) return true;
  return ReadClock(in, fields) && ReadZone(in, fields);
}

// "Mon, 26 Sep 2016 11:01:35 +0900" and its like.
bool ReadRfc822(Scanner& in, Fields& fields) {
  if (IsAsciiLetter(in.front())) {
    const std::string word = in.Word();  // the weekday, or an American's month
    fields.month = MonthOf(word);
    in.Take('.');
    in.SkipSpace();
  }
  fields.day = in.Number(1, 2);
  in.SkipSpace();
  in.Take('-');
  if (IsAsciiLetter(in.front())) fields.month = MonthOf(in.Word());
  in.Take('.');
  in.SkipSpace();
  in.Take('-');
  fields.year = in.Number(2, 4);
  if (fields.year >= 0 && in.last_size() == 2) fields.year += fields.year < 70 ? 2000 : 1900;
  in.SkipSpace();
  if (in.done()) return true;
  return ReadClock(in, fields) && ReadZone(in, fields);
}

std::optional<Time> ToTime(const Fields& fields, int zone_minutes) {
  if (fields.year < 1970 || fields.year > 9998 || fields.month < 1 || fields.day < 1) return {};
  if (fields.hour > 24 || fields.minute > 59 || fields.second > 60) return {};
  const std::chrono::year_month_day date(std::chrono::year(fields.year),
                                         std::chrono::month(static_cast<unsigned>(fields.month)),
                                         std::chrono::day(static_cast<unsigned>(fields.day)));
  const int zone = fields.zone.value_or(zone_minutes);
  if (!date.ok() || zone < -kDay || zone > kDay) return {};
  return std::chrono::sys_days(date) + std::chrono::hours(fields.hour) +
         std::chrono::minutes(fields.minute - zone) + std::chrono::seconds(fields.second) +
         Micros(fields.micros);
}

}  // namespace

std::optional<Time> ParseDate(std::string_view text, int zone_minutes) {
  if (text.size() > kLongest) return {};
  Scanner in(text);
  in.SkipSpace();
  Fields fields;
  const Scanner begin = in;
  bool read = ReadIso(in, fields);
  if (!read) {
    in = begin;
    fields = {};
    read = ReadRfc822(in, fields);
  }
  if (!read) return {};
  return ToTime(fields, zone_minutes);
}

}  // namespace winnow::collector
