#include "services/collector/sources/json_fields.h"

namespace winnow::collector {

std::string ReadText(JsonReader& in) {
  std::string text;
  if (in.Peek() == JsonReader::Kind::kString) {
    in.ReadString(text);
  } else if (in.Peek() == JsonReader::Kind::kNumber) {
    std::string_view spelling;
    if (in.ReadNumber(spelling)) text = spelling;
  } else {
    in.Skip();
  }
  return text;
}

std::vector<std::string> ReadTexts(JsonReader& in) {
  std::vector<std::string> texts;
  if (in.Peek() == JsonReader::Kind::kArray) {
    in.ReadArray([&] {
      texts.push_back(ReadText(in));
      return in.ok();
    });
  } else {
    texts.push_back(ReadText(in));
  }
  std::erase(texts, std::string());
  return texts;
}

}  // namespace winnow::collector
