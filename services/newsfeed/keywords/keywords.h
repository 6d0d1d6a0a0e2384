#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

// What filters ask of an article's keywords and tags: words joined by AND, OR and NOT.
namespace winnow::newsfeed {

inline constexpr size_t kMaxKeywordExpression = 1000;  // characters
inline constexpr size_t kMaxAlternatives = 16;
inline constexpr size_t kMaxAlternativeTerms = 16;

// A keyword as it is compared: NFKC, case folded, one space between words; empty when nothing of it
// is left.
std::string KeywordTerm(std::string_view keyword);

// The terms of an article, sorted, each once.
std::vector<std::string> ToTerms(const std::vector<std::string>& keywords,
                                 const std::vector<std::string>& ai_tags);

// Two bits for each term: an article without the bits of a term does not have the term.
uint64_t SignatureOf(const std::vector<std::string>& terms);

// What must hold together; sorted, each once.
struct KeywordAlternative {
  std::vector<std::string> all;
  std::vector<std::string> none;
  friend bool operator==(const KeywordAlternative&, const KeywordAlternative&) = default;
  friend auto operator<=>(const KeywordAlternative&, const KeywordAlternative&) = default;
};

// One of the alternatives must hold; sorted, each once. Without any, everything passes.
using KeywordExpression = std::vector<KeywordAlternative>;

// `climate AND ("machine learning" OR 인공지능) AND NOT advertisement`: AND binds closer than OR;
// the operators are upper case; what has spaces, parentheses or quotes, or is named like an
// operator, stands in double quotes, in which a backslash takes the next character as it is. Its
// error is INVALID_ARGUMENT with one violation whose field is empty: the caller names the field.
StatusOr<KeywordExpression> ParseKeywordExpression(std::string_view text);

bool Holds(const KeywordExpression& expression, const std::vector<std::string>& terms);

// The same for PostgreSQL, as a tsquery; equal for equal expressions.
std::string ToQueryText(const KeywordExpression& expression);

}  // namespace winnow::newsfeed
