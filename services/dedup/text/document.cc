#include "services/dedup/text/document.h"

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/url.h"

namespace winnow::dedup {
namespace {

std::string Join(std::string_view path, std::string_view field) {
  return std::string(path) + "." + std::string(field);
}

bool IsLanguageTag(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return IsAsciiAlnum(c) || c == '-'; });
}

bool IsBlank(std::string_view text) {
  if (text.empty()) return true;
  // Letters of most texts; no white space begins so.
  const auto first = static_cast<unsigned char>(text.front());
  if ((first > ' ' && first < 0x7F) || (first >= 0xEA && first <= 0xED)) return false;
  return CollapseWhitespace(text).empty();
}

void FillCanonicalUrl(Document& document, std::string_view path, Violations& violations) {
  document.canonical_url.clear();
  // What is far too long is said to be so, and not looked into.
  if (document.url.empty() || document.url.size() > 4 * kMaxUrl) return;
  StatusOr<std::string> canonical = CanonicalUrl(document.url);
  if (canonical.ok()) {
    document.canonical_url = *std::move(canonical);
    return;
  }
  for (const Violation& violation : ViolationsOf(canonical.status())) {
    violations.Add(Join(path, "url"), violation.description);
  }
}

}  // namespace

void CheckText(std::string_view text, size_t limit, std::string field, Violations& violations) {
  // No more bytes than that are no more characters.
  const size_t characters = text.size() > limit ? CountCharacters(text) : 0;
  if (characters > limit) {
    violations.Add(field, "has " + std::to_string(characters) + " characters, at most " +
                              std::to_string(limit) + " are allowed: shorten it");
  }
  if (text.find('\0') != text.npos) {
    violations.Add(std::move(field),
                   "holds the character U+0000, which cannot be stored: remove it");
  }
}

void CheckNamespace(std::string_view ns, std::string field, Violations& violations) {
  if (!IsSlug(ns)) {
    violations.Add(std::move(field), "is not a valid namespace: use 1 to 64 of a-z, 0-9 and -");
  }
}

void CheckId(std::string_view id, std::string field, Violations& violations) {
  if (id.empty()) {
    violations.Add(std::move(field), "is required: send the id that you know the document by");
  } else {
    CheckText(id, kMaxId, std::move(field), violations);
  }
}

void Accept(Document& document, IdRule rule, std::string_view path, Violations& violations) {
  if (document.ns.empty()) document.ns = kDefaultNamespace;
  CheckNamespace(document.ns, Join(path, "namespace"), violations);
  if (rule == IdRule::kRequired || !document.id.empty()) {
    CheckId(document.id, Join(path, "id"), violations);
  }
  if (IsBlank(document.channel)) {
    violations.Add(Join(path, "channel"), "is required: name the outlet that published it");
  }
  if (IsBlank(document.title)) {
    violations.Add(Join(path, "title"), "is required: send the headline or first words");
  }
  CheckText(document.channel, kMaxChannel, Join(path, "channel"), violations);
  CheckText(document.title, kMaxTitle, Join(path, "title"), violations);
  CheckText(document.text, kMaxText, Join(path, "text"), violations);
  CheckText(document.language, kMaxLanguage, Join(path, "language"), violations);
  CheckText(document.url, kMaxUrl, Join(path, "url"), violations);
  if (!IsLanguageTag(document.language)) {
    violations.Add(Join(path, "language"),
                   "is not a BCP 47 language tag: use letters, digits and -, such as ko or en-US");
  }
  FillCanonicalUrl(document, path, violations);
}

}  // namespace winnow::dedup
