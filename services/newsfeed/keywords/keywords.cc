#include "services/newsfeed/keywords/keywords.h"

#include <algorithm>

#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {
namespace {

// Longer terms stand for themselves by a hash: PostgreSQL's words have at most 2,046 bytes.
constexpr size_t kMaxTermBytes = 1000;

void SortOut(std::vector<std::string>& terms) {
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
}

bool HasAll(const std::vector<std::string>& terms, const std::vector<std::string>& wanted) {
  return std::includes(terms.begin(), terms.end(), wanted.begin(), wanted.end());
}

bool HasAny(const std::vector<std::string>& terms, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& term) {
    return std::binary_search(terms.begin(), terms.end(), term);
  });
}

void Quote(const std::string& term, std::string& query) {
  query += '\'';
  for (const char c : term) {
    if (c == '\'' || c == '\\') query += c;
    query += c;
  }
  query += '\'';
}

}  // namespace

std::string KeywordTerm(std::string_view keyword) {
  std::string term = CollapseWhitespace(NormalizeNfkcCaseFold(keyword));
  if (term.size() <= kMaxTermBytes) return term;
  const Hash128Value hash = Hash128(term);
  return "#" + std::to_string(hash.high) + std::to_string(hash.low);
}

std::vector<std::string> ToTerms(const std::vector<std::string>& keywords,
                                 const std::vector<std::string>& ai_tags) {
  std::vector<std::string> terms;
  terms.reserve(keywords.size() + ai_tags.size());
  for (const auto* texts : {&keywords, &ai_tags}) {
    for (const std::string& text : *texts) {
      if (std::string term = KeywordTerm(text); !term.empty()) terms.push_back(std::move(term));
    }
  }
  SortOut(terms);
  return terms;
}

uint64_t SignatureOf(const std::vector<std::string>& terms) {
  uint64_t bits = 0;
  for (const std::string& term : terms) {
    const uint64_t hash = Hash64(term);
    bits |= uint64_t{1} << (hash & 63) | uint64_t{1} << ((hash >> 6) & 63);
  }
  return bits;
}

bool Holds(const KeywordExpression& expression, const std::vector<std::string>& terms) {
  if (expression.empty()) return true;
  return std::any_of(expression.begin(), expression.end(), [&](const KeywordAlternative& one) {
    return HasAll(terms, one.all) && !HasAny(terms, one.none);
  });
}

std::string ToQueryText(const KeywordExpression& expression) {
  std::string query;
  for (const KeywordAlternative& one : expression) {
    query += query.empty() ? "(" : " | (";
    const char* separator = "";
    for (const std::string& term : one.all) {
      query += separator;
      Quote(term, query);
      separator = " & ";
    }
    for (const std::string& term : one.none) {
      query += separator;
      query += '!';
      Quote(term, query);
      separator = " & ";
    }
    query += ")";
  }
  return query;
}

}  // namespace winnow::newsfeed
