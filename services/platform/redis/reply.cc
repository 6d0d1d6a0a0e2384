#include "services/platform/redis/reply.h"

#include <array>

#include "services/platform/redis/errors.h"

namespace winnow::redis {
namespace {

// Redis is there but cannot serve now; the first word of its errors.
constexpr std::array<std::string_view, 8> kPassing = {
    "LOADING", "READONLY", "OOM", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "MISCONF"};

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

Status Reply::ToStatus() const {
  const Error* failed = error();
  if (failed == nullptr) return OkStatus();
  const std::string_view word = FirstWord(failed->text);
  for (const std::string_view passing : kPassing) {
    if (word == passing) return Away("Redis cannot serve now (" + std::string(word) + ")");
  }
  return Internal("Redis answered with an error: " + failed->text);
}

Status Reply::WrongKind(std::string_view wanted) const {
  WINNOW_RETURN_IF_ERROR(ToStatus());
  return Internal("Redis answered with another kind of reply than " + std::string(wanted));
}

StatusOr<int64_t> Reply::Integer() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  return WrongKind("an integer");
}

StatusOr<std::optional<std::string>> Reply::MaybeText() const {
  if (IsNil()) return std::optional<std::string>();
  if (const std::string* value = text()) return std::optional<std::string>(*value);
  return WrongKind("a string");
}

StatusOr<std::string> Reply::Text() const {
  if (const std::string* value = text()) return *value;
  return WrongKind("a string");
}

StatusOr<std::vector<std::optional<std::string>>> Reply::MaybeTexts() const {
  const Array* parts = items();
  if (parts == nullptr) return WrongKind("an array");
  std::vector<std::optional<std::string>> texts;
  texts.reserve(parts->size());
  for (const Reply& part : *parts) {
    WINNOW_ASSIGN_OR_RETURN(texts.emplace_back(), part.MaybeText());
  }
  return texts;
}

StatusOr<std::vector<std::string>> Reply::Texts() const {
  const Array* parts = items();
  if (parts == nullptr) return WrongKind("an array");
  std::vector<std::string> texts;
  texts.reserve(parts->size());
  for (const Reply& part : *parts) {
    WINNOW_ASSIGN_OR_RETURN(texts.emplace_back(), part.Text());
  }
  return texts;
}

StatusOr<std::vector<std::pair<std::string, std::string>>> Reply::Pairs() const {
  WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> texts, Texts());
  if (texts.size() % 2 != 0) return Internal("Redis answered with half a pair");
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.reserve(texts.size() / 2);
  for (size_t i = 0; i < texts.size(); i += 2) {
    pairs.emplace_back(std::move(texts[i]), std::move(texts[i + 1]));
  }
  return pairs;
}

}  // namespace winnow::redis
