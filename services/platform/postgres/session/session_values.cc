#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "services/platform/base/hash.h"
#include "services/platform/postgres/session/session.h"

// Values to PostgreSQL's text form and back.
namespace winnow::pg {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::string Shortest(double number) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return std::string(buffer.data(), end.ptr);
}

[[noreturn]] void RefuseTime(std::string_view text) {
  throw std::invalid_argument("not a time of the years 1 to 9999: " + std::string(text));
}

// Reads the digits at the front of `text` and cuts them off.
int64_t TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) RefuseTime(text);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

Micros TakeFraction(std::string_view& text) {
  if (!TakeChar(text, '.')) return Micros(0);
  int64_t micros = 0;
  int digits = 0;
  for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])); ++digits) {
    if (digits < 6) micros = micros * 10 + (text[0] - '0');
    text.remove_prefix(1);
  }
  for (; digits < 6; ++digits) micros *= 10;
  return Micros(micros);
}

// "+09", "-03:30", "+08:27:52": whatever TimeZone the session has.
seconds TakeOffset(std::string_view& text) {
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) RefuseTime(text);
  text.remove_prefix(1);
  seconds offset = hours(TakeNumber(text));
  if (TakeChar(text, ':')) offset += minutes(TakeNumber(text));
  if (TakeChar(text, ':')) offset += seconds(TakeNumber(text));
  return west ? -offset : offset;
}

Time ParseTime(std::string_view text) {
  const std::string_view whole = text;
  const int64_t year = TakeNumber(text);
  if (!TakeChar(text, '-')) RefuseTime(whole);
  const int64_t month = TakeNumber(text);
  if (!TakeChar(text, '-')) RefuseTime(whole);
  const int64_t day = TakeNumber(text);
  if (!TakeChar(text, ' ')) RefuseTime(whole);
  Micros of_day = hours(TakeNumber(text));
  if (!TakeChar(text, ':')) RefuseTime(whole);
  of_day += minutes(TakeNumber(text));
  if (!TakeChar(text, ':')) RefuseTime(whole);
  of_day += seconds(TakeNumber(text));
  of_day += TakeFraction(text);
  of_day -= TakeOffset(text);
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!text.empty() || !date.ok() || year < 1 || year > 9999) RefuseTime(whole);  // "BC" too
  return std::chrono::sys_days(date) + of_day;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  throw std::invalid_argument("a bytea value is not in hex form");
}

}  // namespace

void Array::AddPlain(std::string_view literal) {
  if (!literal_.empty()) literal_ += ',';
  literal_ += literal;
}

void Array::Add(std::string_view text) {
  if (!literal_.empty()) literal_ += ',';
  literal_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') literal_ += '\\';
    literal_ += c;
  }
  literal_ += '"';
}

void Array::Add(double number) { AddPlain(Shortest(number)); }
void Array::Add(Time time) { Add(std::string_view(ToParameter(time))); }
void Array::AddBytes(std::string_view bytes) { Add(std::string_view(ToParameterBytes(bytes))); }

void Parameters::Add(double number) { Add(Shortest(number)); }

std::string ToParameter(Time time) {
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss of_day(time - day);
  const int year = static_cast<int>(date.year());
  if (year < 1 || year > 9999) RefuseTime("year " + std::to_string(year));
  std::array<char, 64> text;
  const int length = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d.%06d+00", year,
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(of_day.hours().count()), static_cast<int>(of_day.minutes().count()),
      static_cast<int>(of_day.seconds().count()), static_cast<int>(of_day.subseconds().count()));
  return std::string(text.data(), static_cast<size_t>(length));
}

std::optional<std::string> ToParameter(const std::optional<Time>& time) {
  if (!time) return std::nullopt;
  return ToParameter(*time);
}

Time ToTime(const pqxx::field& field) {
  return ParseTime(std::string_view(field.c_str(), field.size()));
}

std::optional<Time> ToOptionalTime(const pqxx::field& field) {
  if (field.is_null()) return std::nullopt;
  return ToTime(field);
}

std::string ToParameterBytes(std::string_view bytes) { return "\\x" + Hex(bytes); }

std::string ToBytes(const pqxx::field& field) {
  const std::string_view text(field.c_str(), field.size());
  if (!text.starts_with("\\x") || text.size() % 2 != 0) HexDigit('?');
  std::string bytes;
  bytes.reserve(text.size() / 2 - 1);
  for (size_t i = 2; i < text.size(); i += 2) {
    bytes += static_cast<char>(HexDigit(text[i]) * 16 + HexDigit(text[i + 1]));
  }
  return bytes;
}

std::vector<std::string> ToTexts(const pqxx::field& field) {
  std::vector<std::string> texts;
  pqxx::array_parser parser = field.as_array();
  using Juncture = pqxx::array_parser::juncture;
  for (auto [what, text] = parser.get_next(); what != Juncture::done;
       std::tie(what, text) = parser.get_next()) {
    if (what == Juncture::null_value) throw std::invalid_argument("an array holds NULL");
    if (what == Juncture::string_value) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace winnow::pg
