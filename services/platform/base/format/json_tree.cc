#include "services/platform/base/format/json_tree.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "services/platform/base/text.h"

namespace winnow {
namespace {

constexpr int kMaxDepth = 32;

// Where the first byte stands that is not UTF-8.
size_t FirstBadByte(std::string_view text) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t next = 0;
  int64_t begin = 0;
  for (UChar32 character = 0; next < size && character >= 0;) {
    begin = next;
    U8_NEXT(text.data(), next, size, character);
  }
  return static_cast<size_t>(begin);
}

bool ReadValue(std::string_view text, JsonReader& in, JsonValue& value) {
  value.kind = in.Peek();
  const size_t begin = in.position();
  const bool read = [&] {
    if (value.kind == JsonReader::Kind::kArray) {
      return in.ReadArray([&] { return ReadValue(text, in, value.items.emplace_back()); });
    }
    if (value.kind != JsonReader::Kind::kObject) return in.Skip();
    return in.ReadObject([&](std::string_view name) {
      JsonMember& member = value.members.emplace_back();
      member.name = name;
      member.raw = in.name_spelling();
      return ReadValue(text, in, member.value);
    });
  }();
  value.raw = text.substr(begin, in.position() - begin);
  return read;
}

}  // namespace

std::string JsonPlace(std::string_view text, std::string_view place, std::string_view origin) {
  const auto offset = static_cast<size_t>(place.data() - text.data());
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_begin =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const size_t column = CountCharacters(before.substr(line_begin)) + 1;
  return std::string(origin) + ":" + std::to_string(line) + ":" + std::to_string(column);
}

StatusOr<JsonValue> ParseJson(std::string_view text, std::string_view origin) {
  const auto fail = [&](size_t at, const std::string& error) {
    return InvalidField("", JsonPlace(text, text.substr(at), origin) + ": " + error);
  };
  if (!IsValidUtf8(text)) {
    return fail(FirstBadByte(text), "the text is not UTF-8: save it as UTF-8");
  }
  JsonReader in(text, {.max_depth = kMaxDepth, .refuses_lone_surrogates = true});
  JsonValue value;
  if (!ReadValue(text, in, value)) return fail(in.position(), in.reason());
  if (in.Peek() != JsonReader::Kind::kEnd) {
    return fail(in.position(), "nothing may follow the end of the value");
  }
  return value;
}

}  // namespace winnow
