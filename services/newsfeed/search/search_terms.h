#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/feed/feed_query.h"
#include "services/platform/base/status.h"

// What a search looks for, and how texts are indexed for it: ASCII letters and digits by whole
// words, everything else by pairs of characters, so that two Korean characters are found in the
// middle of a word.
namespace winnow::newsfeed {

inline constexpr size_t kMaxSearch = 200;  // characters
inline constexpr size_t kMaxSearchTerms = 16;
// Of a snippet so much is searched.
inline constexpr size_t kSearchedSnippet = 1'000;  // characters

struct SearchQuery {
  std::string ns = "default";
  std::vector<std::string> terms;  // by ParseSearch
  std::optional<FeedKey> before;   // from the newest if there is none
  int page_size = 20;
};

struct SearchPage {
  std::vector<StoredArticle> articles;  // newest first
  std::optional<FeedKey> next;          // none at the end
};

// Terms of a search, all of which must be there: normalised, sorted, each once. Its error is
// INVALID_ARGUMENT on `query`.
StatusOr<std::vector<std::string>> ParseSearch(std::string_view query);

// Hashes of the words and pairs of a text, sorted, each once; those of another namespace differ.
std::vector<int32_t> GramsOf(std::string_view ns, std::string_view title, std::string_view snippet);
// Those that a text with all these terms has.
std::vector<int32_t> GramsOf(std::string_view ns, const std::vector<std::string>& terms);

// Whether each term stands in the title or the snippet; where it begins or ends with an ASCII
// letter or digit, no other one follows it there.
bool HasTerms(const std::vector<std::string>& terms, std::string_view title,
              std::string_view snippet);

}  // namespace winnow::newsfeed
