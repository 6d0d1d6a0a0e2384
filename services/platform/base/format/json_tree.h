#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/status.h"

namespace winnow {

struct JsonMember;

// A value of a JSON text as it stands there: an error can be reported with its line, and
// nothing is lost (repeated names, the spelling of numbers).
struct JsonValue {
  using Kind = JsonReader::Kind;  // neither kEnd nor kError
  Kind kind = Kind::kNull;
  std::string_view raw;  // of the text
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;
};

struct JsonMember {
  std::string name;      // unescaped
  std::string_view raw;  // the name as it is spelled, with its quotes
  JsonValue value;
};

// "origin:LINE:COLUMN" of a place in `text`; columns count characters from 1.
std::string JsonPlace(std::string_view text, std::string_view place, std::string_view origin);

// RFC 8259, strictly: no comments, no trailing commas; objects and lists nest at most 32 deep. The
// result points into `text`. Its error is INVALID_ARGUMENT that names the place, without a field.
StatusOr<JsonValue> ParseJson(std::string_view text, std::string_view origin);

}  // namespace winnow
