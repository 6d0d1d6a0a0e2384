#include "services/dedup/text/title_words.h"

#include <algorithm>

#include "services/dedup/text/table.h"
#include "services/dedup/text/tokens.h"
#include "services/platform/base/text.h"

namespace winnow::dedup {
namespace {

std::vector<std::string> WordsOf(std::string_view title) {
  std::vector<std::string> words;
  while (!title.empty()) {
    const size_t end = std::min(title.find(' '), title.size());
    if (end > 0) words.emplace_back(title.substr(0, end));
    title.remove_prefix(std::min(end + 1, title.size()));
  }
  return words;
}

// The word before the first of these endings, where at least two characters are left of it.
std::string_view StemBefore(std::string_view word, const std::vector<std::string>& endings) {
  for (const std::string& ending : endings) {
    if (!word.ends_with(ending)) continue;
    const std::string_view stem = word.substr(0, word.size() - ending.size());
    if (CountCharacters(stem) >= 2) return stem;
  }
  return {};
}

bool IsArticle(std::string_view word) { return word == "the" || word == "a" || word == "an"; }

// Where each character of the text ends.
std::vector<size_t> CharacterEnds(std::string_view text) {
  std::vector<size_t> ends;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ends.push_back(i);
  }
  return ends;
}

// How much of the word, from its first two characters on, the text holds.
double ShareFound(std::string_view word, std::string_view compact) {
  const std::vector<size_t> ends = word.empty() ? std::vector<size_t>() : CharacterEnds(word);
  for (size_t n = ends.size(); n >= 2; --n) {
    if (compact.find(word.substr(0, ends[n - 1])) == compact.npos) continue;
    return static_cast<double>(n) / static_cast<double>(ends.size());
  }
  return 0;
}

// "2월", "2026년", "2월11일": two titles of one day share it, whatever they report.
bool IsDate(std::string_view word) {
  bool has_unit = false;
  while (!word.empty()) {
    const bool is_digit = word.front() >= '0' && word.front() <= '9';
    const bool is_unit = word.starts_with("년") || word.starts_with("월") || word.starts_with("일");
    if (!is_digit && !is_unit) return false;
    has_unit |= is_unit;
    word.remove_prefix(is_digit ? 1 : std::string_view("년").size());
  }
  return has_unit;
}

// Letters up to which a verb only carries the word before it ("공사 안 한다").
constexpr size_t kCarryingLetters = 2;
// Of a denied word, what the other title has to begin a word with to say it: endings differ.
constexpr double kDeniedStem = 0.5;
// Share of the other title's words that a denial has to hold: with fewer it is put another way, and
// a negating word carries no information.
constexpr double kDeniedWords = 0.75;

}  // namespace

StatusOr<TitleWords> TitleWords::Parse(std::string_view table) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<TableRow> rows, ParseTable(table, "title_words.txt"));
  TitleWords words;
  for (const TableRow& row : rows) {
    if (Status status = words.AddRule(row.key, row.value); !status.ok()) {
      return InvalidField("title_words.txt line " + std::to_string(row.line),
                          ViolationsOf(status).front().description);
    }
  }
  // The longest ending first: "에게서" before "서".
  for (auto* endings : {&words.particles_, &words.subjects_, &words.objects_}) {
    std::stable_sort(endings->begin(), endings->end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }
  return words;
}

Status TitleWords::AddRule(const std::string& kind, const std::string& text) {
  if (kind == "particle") {
    particles_.push_back(text);
  } else if (kind == "subject") {
    subjects_.push_back(text);
  } else if (kind == "object") {
    objects_.push_back(text);
  } else if (kind == "relation") {
    relations_.insert(text);
  } else if (kind == "template") {
    templates_.push_back(Compact(text));
  } else if (kind == "negation" && text.ends_with('*')) {
    negation_stems_.insert(text.substr(0, text.size() - 1));
  } else if (kind == "negation") {
    negations_.insert(text);
  } else if (kind == "label") {
    labels_.insert(text);
  } else if (kind == "opposite") {
    const std::vector<std::string> words = WordsOf(text);
    if (words.size() != 2) return InvalidField("", "an opposite takes two words: correct the line");
    opposites_.emplace_back(words[0], words[1]);
  } else {
    return InvalidField("", "unknown kind '" + kind +
                                "': use particle, subject, object, relation, negation, opposite,"
                                " label or template");
  }
  return OkStatus();
}

bool TitleWords::IsFound(std::string_view word, std::string_view compact) const {
  if (word.empty()) return false;
  if (compact.find(word) != compact.npos) return true;
  const std::string_view stem = StemBefore(word, particles_);
  return !stem.empty() && compact.find(stem) != compact.npos;
}

std::string TitleWords::Leading(std::string_view title, std::string_view other) const {
  const std::string left = Compact(title);
  const std::string right = Compact(other);
  const auto is_of_form = [&](const std::string& word) {
    return std::any_of(templates_.begin(), templates_.end(), [&](const std::string& form) {
      return form.find(word) != form.npos && left.find(form) != left.npos &&
             right.find(form) != right.npos;
    });
  };
  for (std::string& word : WordsOf(title)) {
    if (CountCharacters(word) < 2 || IsArticle(word) || IsDate(word)) continue;
    if (labels_.contains(word)) continue;
    if (!is_of_form(word)) return std::move(word);
  }
  return {};
}

int TitleWords::LeadingWordsShared(std::string_view a, std::string_view b) const {
  return (IsFound(Leading(a, b), Compact(b)) ? 1 : 0) +
         (IsFound(Leading(b, a), Compact(a)) ? 1 : 0);
}

double TitleWords::LeadingShare(std::string_view a, std::string_view b) const {
  return (ShareFound(Leading(a, b), Compact(b)) + ShareFound(Leading(b, a), Compact(a))) / 2;
}

bool TitleWords::ShareTemplate(std::string_view a, std::string_view b) const {
  const std::string left = Compact(a);
  const std::string right = Compact(b);
  return std::any_of(templates_.begin(), templates_.end(), [&](const std::string& form) {
    return left.find(form) != left.npos && right.find(form) != right.npos;
  });
}

std::string_view TitleWords::NegationOf(std::string_view word) const {
  if (const auto at = negations_.find(word); at != negations_.end()) return *at;
  const auto stem = std::find_if(negation_stems_.begin(), negation_stems_.end(),
                                 [&](const std::string& each) { return word.starts_with(each); });
  return stem == negation_stems_.end() ? std::string_view() : *stem;
}

bool TitleWords::Denies(const std::vector<std::string>& words) const {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return !NegationOf(word).empty(); });
}

bool TitleWords::DeniesWhatIsSaid(const std::vector<std::string>& words,
                                  std::string_view other) const {
  const auto says = [&](std::string_view word) { return ShareFound(word, other) >= kDeniedStem; };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view negation = NegationOf(words[i]);
    if (negation.empty()) continue;
    const bool denies_before = negation_stems_.contains(negation);  // "가지 않는다", not "못 간다"
    const std::string next = i + 1 < words.size() && !denies_before ? words[i + 1] : "";
    const std::string denial = std::string(negation) + next;
    const bool is_telling = denies_before || !next.empty();
    if (is_telling && other.find(denial) != other.npos) continue;  // only spaced another way
    if (says(next)) return true;
    if (CountCharacters(next) <= kCarryingLetters && i > 0 && says(words[i - 1])) return true;
  }
  return false;
}

bool TitleWords::IsDenial(const Title& a, const Title& b) const {
  const bool first = Denies(a.words);
  if (first == Denies(b.words)) return false;
  const std::string denial = Compact(first ? a.text : b.text);
  const std::vector<std::string>& words = first ? b.words : a.words;
  const auto held = std::count_if(words.begin(), words.end(),
                                  [&](const std::string& word) { return IsFound(word, denial); });
  if (static_cast<double>(held) < kDeniedWords * static_cast<double>(words.size())) return false;
  return DeniesWhatIsSaid(first ? a.words : b.words, Compact(first ? b.text : a.text));
}

bool TitleWords::HasOpposites(const Title& a, const Title& b) const {
  const auto has = [](const Title& title, const std::string& word) {
    // A Korean word goes on with an ending; an English one ends where it ends.
    const bool is_latin = static_cast<unsigned char>(word.front()) < 0x80;
    if (!is_latin) return title.text.find(word) != title.text.npos;
    return std::find(title.words.begin(), title.words.end(), word) != title.words.end();
  };
  return std::any_of(opposites_.begin(), opposites_.end(), [&](const Names& pair) {
    const bool a_first = has(a, pair.first);
    const bool a_second = has(a, pair.second);
    if (a_first == a_second) return false;
    const bool b_first = has(b, pair.first);
    const bool b_second = has(b, pair.second);
    return b_first != b_second && a_first != b_first;
  });
}

std::set<TitleWords::Names> TitleWords::Roles(const std::vector<std::string>& words) const {
  std::set<Names> roles;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (!relations_.contains(words[i])) continue;
    const size_t after = IsArticle(words[i + 1]) && i + 2 < words.size() ? i + 2 : i + 1;
    roles.emplace(words[i - 1], words[after]);
  }
  std::string subject;
  std::string object;
  for (const std::string& word : words) {
    if (const auto stem = StemBefore(word, objects_); !stem.empty()) {
      if (object.empty()) object = stem;
    } else if (const auto other = StemBefore(word, subjects_); !other.empty()) {
      if (subject.empty()) subject = other;
    }
  }
  if (!subject.empty() && !object.empty()) roles.emplace(subject, object);
  return roles;
}

bool TitleWords::Contradict(std::string_view a, std::string_view b) const {
  const Title left{a, WordsOf(a)};
  const Title right{b, WordsOf(b)};
  if (IsDenial(left, right) || HasOpposites(left, right)) return true;
  const std::set<Names> roles = Roles(right.words);
  for (const Names& names : Roles(left.words)) {
    if (names.first != names.second && roles.contains({names.second, names.first})) return true;
  }
  return false;
}

}  // namespace winnow::dedup
