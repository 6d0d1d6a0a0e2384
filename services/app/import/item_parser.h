#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "services/app/import/field_report.h"
#include "services/app/import/refusal.h"
#include "services/platform/base/clock.h"
#include "winnow/collector/v1/collector.pb.h"

namespace simdjson::dom {
class parser;
}

namespace winnow::app {

// One JSON object of an import to one Item:
//   url, title, snippet, channel, channel_name, categories, published_at (also as arrival time),
//   and, where there, external_id, language, image_url, video_url, keywords.
// source_name is taken as channel_name where that is absent or empty. Other fields are ignored and
// reported; null counts as absent. The server checks what the values hold.
class ItemParser {
 public:
  // `now` is what relative times of publication ("-1d2h30m") go back from.
  ItemParser(std::string item_namespace, Time now);
  ~ItemParser();

  std::variant<collector::v1::Item, Refusal> Parse(std::string_view line);

  // Of the lines so far.
  FieldReport& fields() { return fields_; }
  const FieldReport& fields() const { return fields_; }

 private:
  const std::string namespace_;
  const Time now_;
  std::unique_ptr<simdjson::dom::parser> parser_;
  FieldReport fields_;
};

}  // namespace winnow::app
