#include "services/app/import/item_parser.h"

#include <simdjson.h>

#include <charconv>
#include <optional>

#include "services/app/import/input/line_reader.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

using collector::v1::Item;
using simdjson::dom::element;

Refusal BadField(std::string_view field, std::string_view what) {
  return {std::string(field), std::string(field).append(": ").append(what)};
}

std::optional<Refusal> SetText(std::string_view field, element value, std::string* out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return BadField(field, "must be a text");
  out->assign(text);
  return std::nullopt;
}

template <class Repeated>
std::optional<Refusal> SetTexts(std::string_view field, element value, Repeated* out) {
  simdjson::dom::array elements;
  if (value.get(elements) != simdjson::SUCCESS) return BadField(field, "must be a list of texts");
  for (const element each : elements) {
    std::string_view text;
    if (each.get(text) != simdjson::SUCCESS) return BadField(field, "must be a list of texts");
    out->Add(std::string(text));
  }
  return std::nullopt;
}

// "-1d2h30m": that long ago. Absent when it is not of this form.
std::optional<Micros> ParseAgo(std::string_view text) {
  if (text.size() < 3 || text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  std::chrono::seconds ago{0};
  while (!text.empty()) {
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const size_t digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || count < 0 || digits == text.size()) return std::nullopt;
    switch (text[digits]) {
      case 'd':
        ago += std::chrono::days(count);
        break;
      case 'h':
        ago += std::chrono::hours(count);
        break;
      case 'm':
        ago += std::chrono::minutes(count);
        break;
      case 's':
        ago += std::chrono::seconds(count);
        break;
      default:
        return std::nullopt;
    }
    text.remove_prefix(digits + 1);
  }
  return ago;
}

std::optional<Refusal> SetTimes(element value, Time now, Item& item) {
  std::string text;
  if (auto refusal = SetText("published_at", value, &text)) return refusal;
  if (text.empty()) return std::nullopt;
  Time time = now;
  if (const auto ago = ParseAgo(text)) {
    time -= *ago;
  } else {
    const auto parsed = ParseTime(text);
    if (!parsed.ok()) {
      return BadField("published_at",
                      "must be a time such as 2026-02-01T09:30:00Z of years 1 to 9999, or -1d2h30m "
                      "for that long ago");
    }
    time = *parsed;
  }
  *item.mutable_publish_time() = ToTimestamp(time);
  *item.mutable_arrival_time() = item.publish_time();
  return std::nullopt;
}

struct TextField {
  std::string_view name;
  std::string* (Item::*field)();
};
constexpr TextField kTextFields[] = {
    {"url", &Item::mutable_url},
    {"title", &Item::mutable_title},
    {"snippet", &Item::mutable_snippet},
    {"channel", &Item::mutable_channel},
    {"channel_name", &Item::mutable_channel_name},
    {"external_id", &Item::mutable_external_id},
    {"language", &Item::mutable_language},
    {"channel_icon_url", &Item::mutable_channel_icon_url},
    {"image_url", &Item::mutable_image_url},
    {"video_url", &Item::mutable_video_url},
};

constexpr std::string_view kAlias = "source_name";
constexpr std::string_view kAliasOf = "channel_name";

std::optional<Refusal> SetField(std::string_view name, element value, Time now, Item& item,
                                FieldReport& report) {
  for (const TextField& text : kTextFields) {
    if (name != text.name) continue;
    return value.is_null() ? std::nullopt : SetText(name, value, (item.*text.field)());
  }
  const bool is_other =
      name == "categories" || name == "keywords" || name == "ai_tags" || name == "published_at";
  if (is_other && value.is_null()) return std::nullopt;
  if (name == "categories") return SetTexts(name, value, item.mutable_source_categories());
  if (name == "keywords") return SetTexts(name, value, item.mutable_keywords());
  if (name == "ai_tags") return SetTexts(name, value, item.mutable_ai_tags());
  if (name == "published_at") return SetTimes(value, now, item);
  report.AddUnknown(name);
  return std::nullopt;
}

Refusal NotJson(simdjson::error_code error) {
  if (error == simdjson::UTF8_ERROR) {
    return {"not UTF-8", "is not valid UTF-8: convert the file, e.g. with iconv"};
  }
  return {"not JSON", "is not a JSON object: " + std::string(simdjson::error_message(error))};
}

}  // namespace

ItemParser::ItemParser(std::string item_namespace, Time now)
    : namespace_(std::move(item_namespace)),
      now_(now),
      parser_(std::make_unique<simdjson::dom::parser>(2 * kMaxLineBytes)) {}

ItemParser::~ItemParser() = default;

std::variant<Item, Refusal> ItemParser::Parse(std::string_view line) {
  element root;
  if (const auto error = parser_->parse(line.data(), line.size()).get(root)) return NotJson(error);
  simdjson::dom::object object;
  if (const auto error = root.get(object)) return NotJson(error);
  Item item;
  item.set_namespace_(namespace_);
  std::string_view source_name;
  for (const auto [name, value] : object) {
    // A value that is not a text cannot be a name: as that of an unknown field it loses no item.
    if (name == kAlias && (value.is_null() || value.get(source_name) == simdjson::SUCCESS)) {
      continue;
    }
    if (auto refusal = SetField(name, value, now_, item, fields_)) return *std::move(refusal);
  }
  if (!source_name.empty()) {
    const bool overruled = !item.channel_name().empty();
    fields_.AddAlias(kAlias, kAliasOf, overruled);
    if (!overruled) item.set_channel_name(std::string(source_name));
  }
  return item;
}

}  // namespace winnow::app
