#include <algorithm>
#include <iterator>

#include "services/newsfeed/keywords/keywords.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/text.h"

// Expressions over keywords, read straight into alternatives: negations are pushed down to words
// while they are read, and what contradicts itself is dropped.
namespace winnow::newsfeed {
namespace {

constexpr int kMaxDepth = 16;

enum class Kind { kEnd, kWord, kAnd, kOr, kNot, kOpen, kClose, kBroken };

struct Token {
  Kind kind = Kind::kEnd;
  std::string word;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next() {
    while (at_ < text_.size() && IsAsciiSpace(text_[at_])) ++at_;
    if (at_ == text_.size()) return {Kind::kEnd, {}};
    switch (text_[at_]) {
      case '(':
        ++at_;
        return {Kind::kOpen, {}};
      case ')':
        ++at_;
        return {Kind::kClose, {}};
      case '"':
        return Quoted();
      default:
        return Bare();
    }
  }

 private:
  Token Quoted() {
    std::string word;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return {Kind::kWord, std::move(word)};
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word += text_[at_];
    }
    return {Kind::kBroken, {}};
  }

  Token Bare() {
    const size_t begin = at_;
    while (at_ < text_.size() && !IsAsciiSpace(text_[at_]) && text_[at_] != '(' &&
           text_[at_] != ')' && text_[at_] != '"') {
      ++at_;
    }
    std::string word(text_.substr(begin, at_ - begin));
    if (word == "AND") return {Kind::kAnd, {}};
    if (word == "OR") return {Kind::kOr, {}};
    if (word == "NOT") return {Kind::kNot, {}};
    return {Kind::kWord, std::move(word)};
  }

  std::string_view text_;
  size_t at_ = 0;
};

using Alternatives = KeywordExpression;

std::vector<std::string> Union(const std::vector<std::string>& a,
                               const std::vector<std::string>& b) {
  std::vector<std::string> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

bool Contradicts(const KeywordAlternative& one) {
  return std::any_of(one.all.begin(), one.all.end(), [&](const std::string& term) {
    return std::binary_search(one.none.begin(), one.none.end(), term);
  });
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), token_(lexer_.Next()) {}

  StatusOr<Alternatives> Parse() {
    Alternatives all = Any(false, 0);
    if (error_.empty() && token_.kind != Kind::kEnd) {
      Fail(token_.kind == Kind::kBroken
               ? "has a quote that does not end"
               : "continues where AND, OR or the end of the expression is expected");
    }
    if (!error_.empty()) return InvalidField("", error_);
    if (all.empty()) return InvalidField("", "contradicts itself: no article can pass");
    return all;
  }

 private:
  void Fail(std::string why) {
    if (error_.empty()) {
      error_ = std::move(why) +
               "; write it like: climate AND (\"machine learning\" OR solar) "
               "AND NOT advertisement";
    }
  }
  void Step() { token_ = lexer_.Next(); }

  // x OR y; under a NOT: none of them.
  Alternatives Any(bool negated, int depth) {
    Alternatives result = All(negated, depth);
    while (error_.empty() && token_.kind == Kind::kOr) {
      Step();
      Alternatives next = All(negated, depth);
      result = negated ? Both(result, next) : Either(std::move(result), std::move(next));
    }
    return result;
  }

  // x AND y; under a NOT: not all of them.
  Alternatives All(bool negated, int depth) {
    Alternatives result = One(negated, depth);
    while (error_.empty() && token_.kind == Kind::kAnd) {
      Step();
      Alternatives next = One(negated, depth);
      result = negated ? Either(std::move(result), std::move(next)) : Both(result, next);
    }
    return result;
  }

  Alternatives One(bool negated, int depth) {
    if (depth > kMaxDepth) Fail("is nested deeper than " + std::to_string(kMaxDepth));
    if (!error_.empty()) return {};
    switch (token_.kind) {
      case Kind::kNot:
        Step();
        return One(!negated, depth + 1);
      case Kind::kOpen: {
        Step();
        Alternatives inner = Any(negated, depth + 1);
        if (token_.kind != Kind::kClose) Fail("has a parenthesis that does not end");
        Step();
        return inner;
      }
      case Kind::kWord:
        return Word(negated);
      case Kind::kBroken:
        Fail("has a quote that does not end");
        return {};
      default:
        Fail("lacks a keyword");
        return {};
    }
  }

  Alternatives Word(bool negated) {
    std::string term = KeywordTerm(token_.word);
    if (term.empty()) Fail("has a keyword without a visible character");
    Step();
    KeywordAlternative one;
    (negated ? one.none : one.all).push_back(std::move(term));
    return {std::move(one)};
  }

  Alternatives Either(Alternatives a, Alternatives b) {
    std::move(b.begin(), b.end(), std::back_inserter(a));
    return Tidy(std::move(a));
  }

  Alternatives Both(const Alternatives& a, const Alternatives& b) {
    Alternatives product;
    for (const KeywordAlternative& x : a) {
      for (const KeywordAlternative& y : b) {
        KeywordAlternative one{Union(x.all, y.all), Union(x.none, y.none)};
        if (!Contradicts(one)) product.push_back(std::move(one));
      }
    }
    return Tidy(std::move(product));
  }

  Alternatives Tidy(Alternatives all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > kMaxAlternatives) {
      Fail("comes to " + std::to_string(all.size()) + " alternatives, the limit is " +
           std::to_string(kMaxAlternatives));
    }
    for (const KeywordAlternative& one : all) {
      if (one.all.size() + one.none.size() > kMaxAlternativeTerms) {
        Fail("asks for more than " + std::to_string(kMaxAlternativeTerms) + " keywords at once");
      }
    }
    return all;
  }

  Lexer lexer_;
  Token token_;
  std::string error_;
};

}  // namespace

StatusOr<KeywordExpression> ParseKeywordExpression(std::string_view text) {
  if (CountCharacters(text) > kMaxKeywordExpression) {
    return InvalidField("", "has " + std::to_string(CountCharacters(text)) +
                                " characters, the limit is " +
                                std::to_string(kMaxKeywordExpression) + "; shorten it");
  }
  if (text.find('\0') != std::string_view::npos) {
    return InvalidField("", "holds a NUL character (U+0000), which no keyword has; remove it");
  }
  return Parser(text).Parse();
}

}  // namespace winnow::newsfeed
