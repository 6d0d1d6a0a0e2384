#include "services/app/import/input/text_reader.h"

#include <utility>

#include "services/platform/base/text.h"

namespace winnow::app {
namespace {

constexpr int kTexts = 500;
constexpr size_t kTextCharacters = 20'000;
constexpr size_t kTextsCharacters = 400'000;  // of a call

Status Check(const Line& line) {
  const std::string at = "line " + std::to_string(line.number);
  if (line.problem == Line::Problem::kCutOff) return InvalidField(at, "the file ends within it");
  if (line.problem == Line::Problem::kTooLong || CountCharacters(line.text) > kTextCharacters) {
    return InvalidField(at, "is over 20,000 characters");
  }
  if (line.text.find('\0') != std::string_view::npos) return InvalidField(at, "holds U+0000");
  if (!IsValidUtf8(line.text)) return InvalidField(at, "is not UTF-8");
  return OkStatus();
}

}  // namespace

Status TextReader::Next(google::protobuf::RepeatedPtrField<std::string>& texts) {
  texts.Clear();
  size_t characters = 0;
  while (texts.size() < kTexts) {
    if (held_.empty()) {
      const std::optional<Line> line = lines_.Next();
      if (!line) break;
      WINNOW_RETURN_IF_ERROR(Check(*line));
      held_ = line->text;
    }
    characters += CountCharacters(held_);
    if (characters > kTextsCharacters) break;
    *texts.Add() = std::exchange(held_, {});
  }
  return lines_.status();
}

}  // namespace winnow::app
