#include "services/dedup/text/boilerplate.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "services/dedup/text/table.h"
#include "services/dedup/text/unicode.h"

namespace winnow::dedup {
namespace {

constexpr size_t kMaxInGroup = 40;  // code points between brackets that may be dropped
constexpr size_t kMaxInName = 4;    // syllables of a Korean reporter's name
constexpr size_t kMinInName = 2;
constexpr int kMaxSuffixes = 2;

constexpr std::u32string_view kOpening = U"[(【〔<〈《「『";
constexpr std::u32string_view kClosing = U"])】〕>〉》」』";
constexpr std::u32string_view kDashes = U"-–—|:·<";

void Blank(std::u32string& text, size_t begin, size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
            text.begin() + static_cast<std::ptrdiff_t>(end), U' ');
}

std::u32string WithoutSpaces(std::u32string_view text) {
  std::u32string compact;
  for (const char32_t point : text) {
    if (!IsSpace(point)) compact.push_back(point);
  }
  return compact;
}

// Runs of digits become one '#', so that "2보" and "13보" are one label.
std::u32string WithNumbersMarked(std::u32string_view compact) {
  std::u32string marked;
  for (const char32_t point : compact) {
    if (!IsDigit(point)) {
      marked.push_back(point);
    } else if (marked.empty() || marked.back() != U'#') {
      marked.push_back(U'#');
    }
  }
  return marked;
}

std::u32string LettersOnly(std::u32string_view text) {
  std::u32string letters;
  std::copy_if(text.begin(), text.end(), std::back_inserter(letters), IsLetterOrDigit);
  return letters;
}

// Where the last dash lies; 0 where there is none.
size_t LastDash(std::u32string_view text) {
  for (size_t at = text.size(); at > 1;) {
    --at;
    if (text[at] == U' ' || IsLetterOrDigit(text[at])) continue;
    if (kDashes.find(text[at]) != kDashes.npos) return at;
  }
  return 0;
}

std::u32string_view Trim(std::u32string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

StatusOr<Boilerplate> Boilerplate::Parse(std::string_view table) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<TableRow> rows, ParseTable(table, "boilerplate.txt"));
  Boilerplate rules;
  for (const TableRow& row : rows) {
    if (Status status = rules.AddRule(row.key, DecodeUtf8(row.value)); !status.ok()) {
      return InvalidField("boilerplate.txt line " + std::to_string(row.line),
                          ViolationsOf(status).front().description);
    }
  }
  const auto longest_first = [](const Wording& a, const Wording& b) {
    return a.text.size() > b.text.size();
  };
  std::stable_sort(rules.roles_.begin(), rules.roles_.end(), longest_first);
  std::stable_sort(rules.phrases_.begin(), rules.phrases_.end(), longest_first);
  std::stable_sort(rules.literals_.begin(), rules.literals_.end(), longest_first);
  return rules;
}

Status Boilerplate::AddRule(std::string_view kind, std::u32string rule) {
  if (kind == "tag") {
    tags_.insert(WithoutSpaces(rule));
  } else if (kind == "agency") {
    agencies_.push_back(WithoutSpaces(rule));
  } else if (kind == "role") {
    roles_.emplace_back(WithoutSpaces(rule));
  } else if (kind == "phrase") {
    phrases_.emplace_back(LettersOnly(rule));
  } else if (kind == "literal") {
    if (std::all_of(rule.begin(), rule.end(), IsLetterOrDigit)) {
      return InvalidField("", "a literal of letters alone would cut words: use phrase");
    }
    literals_.emplace_back(std::move(rule));
  } else if (kind == "prefix") {
    prefixes_.insert(WithoutSpaces(rule));
  } else if (kind == "suffix") {
    suffixes_.push_back(WithoutSpaces(rule));
  } else {
    return InvalidField("", "unknown kind '" + std::string(kind) +
                                "': use tag, agency, role, phrase, literal, prefix or suffix");
  }
  return OkStatus();
}

std::u32string Boilerplate::Remove(std::u32string text) const {
  CharacterMask held(text);
  held.Add(U' ');  // what is removed becomes one
  RemoveLiterals(held, text);
  RemoveGroups(text);
  RemovePhrases(held, text);
  RemoveBylines(held, text);
  RemovePrefix(text);
  RemoveSuffix(text);
  return text;
}

void Boilerplate::RemoveLiterals(const CharacterMask& held, std::u32string& text) const {
  for (const auto& [literal, mask] : literals_) {
    if (!held.MayHold(mask)) continue;
    for (size_t at = text.find(literal); at != text.npos; at = text.find(literal, at)) {
      Blank(text, at, at + literal.size());
    }
  }
}

void Boilerplate::RemoveGroups(std::u32string& text) const {
  for (size_t open = 0; open < text.size(); ++open) {
    if (text[open] == U' ' || IsLetterOrDigit(text[open])) continue;  // most, and no bracket is
    const size_t kind = kOpening.find(text[open]);
    if (kind == kOpening.npos) continue;
    const size_t close = text.find(kClosing[kind], open + 1);
    if (close == text.npos || close - open - 1 > kMaxInGroup) continue;
    const auto content = std::u32string_view(text).substr(open + 1, close - open - 1);
    if (!IsDroppedGroup(content)) continue;
    Blank(text, open, close + 1);
    open = close;
  }
}

bool Boilerplate::IsTag(std::u32string_view content) const {
  const std::u32string compact = WithoutSpaces(content);
  return tags_.contains(compact) || tags_.contains(WithNumbersMarked(compact));
}

bool Boilerplate::IsDroppedGroup(std::u32string_view content) const {
  return IsTag(content) || NamesAgency(WithoutSpaces(content));
}

// "뉴시스", "서울=뉴시스", "뉴스경제(인천)=홍길동기자", "대구=뉴스경제홍길동기자", "홍길동기자".
bool Boilerplate::NamesAgency(std::u32string_view content) const {
  const bool has_role = std::any_of(roles_.begin(), roles_.end(), [&](const auto& role) {
    return content.size() > role.text.size() && content.ends_with(role.text);
  });
  for (size_t begin = 0; begin <= content.size();) {
    const size_t end = std::min(content.find(U'=', begin), content.size());
    const auto part = content.substr(begin, end - begin);
    for (const std::u32string& agency : agencies_) {
      if (!part.starts_with(agency)) continue;
      const auto rest = part.substr(agency.size());
      if (rest.empty() || has_role || !IsLetterOrDigit(rest.front())) return true;
    }
    begin = end + 1;
  }
  return has_role && (content.find(U'=') != content.npos ||
                      std::all_of(content.begin(), content.end(), IsHangulSyllable));
}

// Wording varies in spaces and punctuation, so only letters and digits are compared.
void Boilerplate::RemovePhrases(const CharacterMask& held, std::u32string& text) const {
  const auto may_be_there = [&](const Wording& phrase) { return held.MayHold(phrase.mask); };
  if (std::none_of(phrases_.begin(), phrases_.end(), may_be_there)) return;
  std::u32string letters;
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsLetterOrDigit(text[i])) continue;
    letters.push_back(text[i]);
    places.push_back(i);
  }
  for (const auto& [phrase, mask] : phrases_) {
    if (!held.MayHold(mask)) continue;
    for (size_t at = letters.find(phrase); at != letters.npos;
         at = letters.find(phrase, at + phrase.size())) {
      Blank(text, places[at], places[at + phrase.size() - 1] + 1);
      std::fill_n(letters.begin() + static_cast<std::ptrdiff_t>(at), phrase.size(), U' ');
    }
  }
}

// Where the name (or names, joined by a middle dot or comma) before a role begins; `role_begin`
// if there is none.
size_t Boilerplate::BylineBegin(std::u32string_view text, size_t role_begin) const {
  size_t at = role_begin;
  while (at > 0 && IsSpace(text[at - 1])) --at;
  for (;;) {
    size_t begin = at;
    while (begin > 0 && at - begin < kMaxInName && IsHangulSyllable(text[begin - 1])) --begin;
    if (at - begin < kMinInName) return role_begin;
    if (begin > 0 && IsLetterOrDigit(text[begin - 1])) return role_begin;
    const bool is_joined = begin > 0 && (text[begin - 1] == U'·' || text[begin - 1] == U',' ||
                                         text[begin - 1] == U'\u119E');
    if (!is_joined) return begin;
    at = begin - 1;
  }
}

void Boilerplate::RemoveBylines(const CharacterMask& held, std::u32string& text) const {
  for (const auto& [role, mask] : roles_) {
    if (!held.MayHold(mask)) continue;
    for (size_t at = text.find(role); at != text.npos; at = text.find(role, at + role.size())) {
      const size_t begin = BylineBegin(text, at);
      if (begin == at) continue;
      size_t end = at + role.size();
      while (end < text.size() && IsSpace(text[end])) ++end;
      const bool has_sign = end < text.size() && text[end] == U'=';
      const auto before = Trim(std::u32string_view(text).substr(0, begin));
      const bool stands_alone = before.empty() || !IsLetterOrDigit(before.back());
      if (has_sign || (end == text.size() && stands_alone)) {
        Blank(text, begin, has_sign ? end + 1 : end);
      }
    }
  }
}

// "속보:", "breaking |".
void Boilerplate::RemovePrefix(std::u32string& text) const {
  size_t begin = 0;
  while (begin < text.size() && !IsLetterOrDigit(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && (IsLetterOrDigit(text[end]) || text[end] == U' ')) ++end;
  if (end == text.size() || kDashes.find(text[end]) == kDashes.npos) return;
  if (prefixes_.contains(WithoutSpaces(text.substr(begin, end - begin)))) Blank(text, 0, end + 1);
}

// " - reuters", "| 뉴스경제".
void Boilerplate::RemoveSuffix(std::u32string& text) const {
  for (int round = 0; round < kMaxSuffixes; ++round) {
    const size_t dash = LastDash(text);
    if (dash == 0) return;
    const std::u32string tail = WithoutSpaces(std::u32string_view(text).substr(dash + 1));
    if (std::find(suffixes_.begin(), suffixes_.end(), tail) == suffixes_.end()) return;
    Blank(text, dash, text.size());
  }
}

}  // namespace winnow::dedup
