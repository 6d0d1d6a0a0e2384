#include "services/newsfeed/search/search_terms.h"

#include <algorithm>

#include "services/platform/base/ascii.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {
namespace {

// Bytes of the character at `at` of valid UTF-8.
size_t SizeAt(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Whether the character is a letter beyond ASCII, for all that matters here: not of General or CJK
// Punctuation.
bool IsWide(std::string_view character) {
  if (static_cast<unsigned char>(character[0]) < 0xC3) return false;  // ASCII, and U+0080 to U+00BF
  return !character.starts_with("\xE2\x80") && !character.starts_with("\xE2\x81") &&
         !character.starts_with("\xE3\x80");
}

class Grams {
 public:
  explicit Grams(std::string_view ns) : seed_(Hash64(ns)) {}

  void AddText(std::string_view text) {
    std::string_view before;  // the wide character before this one
    for (size_t at = 0; at < text.size();) {
      if (IsAsciiLowerAlnum(text[at])) {
        size_t end = at;
        while (end < text.size() && IsAsciiLowerAlnum(text[end])) ++end;
        Add(text.substr(at, end - at), 'w');
        at = end;
        before = {};
        continue;
      }
      const std::string_view character = text.substr(at, SizeAt(text, at));
      at += character.size();
      if (!IsWide(character)) {
        before = {};
        continue;
      }
      if (!before.empty()) Add({before.data(), before.size() + character.size()}, 'p');
      before = character;
    }
  }

  std::vector<int32_t> Take() && {
    std::sort(hashes_.begin(), hashes_.end());
    hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
    return std::move(hashes_);
  }

 private:
  void Add(std::string_view gram, char kind) {
    const uint64_t hash = Hash64(gram, seed_ + static_cast<unsigned char>(kind));
    hashes_.push_back(static_cast<int32_t>(static_cast<uint32_t>(hash)));
  }

  const uint64_t seed_;
  std::vector<int32_t> hashes_;
};

std::string Normal(std::string_view text) {
  return CollapseWhitespace(NormalizeNfkcCaseFold(text));
}

// The first characters of a text.
std::string_view Begin(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size() && characters-- > 0) at += SizeAt(text, at);
  return text.substr(0, at);
}

std::string Searched(std::string_view snippet) {
  return std::string(Begin(Normal(snippet), kSearchedSnippet));
}

bool StandsIn(std::string_view text, std::string_view term) {
  for (size_t at = text.find(term); at != std::string_view::npos; at = text.find(term, at + 1)) {
    const size_t end = at + term.size();
    const bool begins =
        !IsAsciiLowerAlnum(term.front()) || at == 0 || !IsAsciiLowerAlnum(text[at - 1]);
    const bool ends =
        !IsAsciiLowerAlnum(term.back()) || end == text.size() || !IsAsciiLowerAlnum(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

Status Refuse(const std::string& why) { return InvalidField("query", why); }

}  // namespace

StatusOr<std::vector<std::string>> ParseSearch(std::string_view query) {
  if (CountCharacters(query) > kMaxSearch) {
    return Refuse("has more than " + std::to_string(kMaxSearch) + " characters; shorten it");
  }
  if (query.find('\0') != std::string_view::npos) return Refuse("holds a NUL character");
  const std::string normal = Normal(query);
  std::vector<std::string> terms;
  for (size_t at = 0; at < normal.size();) {
    const size_t end = std::min(normal.find(' ', at), normal.size());
    terms.push_back(normal.substr(at, end - at));
    at = end + 1;
  }
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  if (terms.empty()) return Refuse("is required: a word, or two characters of one");
  if (terms.size() > kMaxSearchTerms) {
    return Refuse("has more than " + std::to_string(kMaxSearchTerms) + " words; leave some out");
  }
  for (const std::string& term : terms) {
    if (!GramsOf("", std::vector<std::string>{term}).empty()) continue;
    return Refuse("\"" + term +
                  "\" is too short: a word of ASCII letters or digits, or two other " +
                  "letters in a row, can be found");
  }
  return terms;
}

std::vector<int32_t> GramsOf(std::string_view ns, std::string_view title,
                             std::string_view snippet) {
  Grams grams(ns);
  grams.AddText(Normal(title));
  grams.AddText(Searched(snippet));
  return std::move(grams).Take();
}

std::vector<int32_t> GramsOf(std::string_view ns, const std::vector<std::string>& terms) {
  Grams grams(ns);
  for (const std::string& term : terms) grams.AddText(term);
  return std::move(grams).Take();
}

bool HasTerms(const std::vector<std::string>& terms, std::string_view title,
              std::string_view snippet) {
  const std::string in_title = Normal(title);
  const std::string in_snippet = Searched(snippet);
  return std::all_of(terms.begin(), terms.end(), [&](const std::string& term) {
    return StandsIn(in_title, term) || StandsIn(in_snippet, term);
  });
}

}  // namespace winnow::newsfeed
