#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::dedup {

// What titles say beyond their tokens: by which name they begin, whether they deny, who does what
// to whom, whether they are a form that is filled in. Words are data (data/title_words.txt); titles
// are normalised.
class TitleWords {
 public:
  // Error: INVALID_ARGUMENT that names the line.
  static StatusOr<TitleWords> Parse(std::string_view table);

  // How many of the two leading words are found in the other title: 0, 1 or 2. A particle at the
  // word's end does not count; a label ("인사") leads nothing, nor does a date, nor a form that
  // both fill in.
  int LeadingWordsShared(std::string_view a, std::string_view b) const;
  // How much of both leading words, from their first letter on, is found in the other title: within
  // [0, 1]. Newsrooms shorten names at their end.
  double LeadingShare(std::string_view a, std::string_view b) const;
  // Whether both fill in the same form.
  bool ShareTemplate(std::string_view a, std::string_view b) const;
  // Whether they say the contrary: one denies what the other says in nearly the same words, or has
  // the opposite of a word of the other, or the two names of one have changed places in the other.
  bool Contradict(std::string_view a, std::string_view b) const;

 private:
  using Names = std::pair<std::string, std::string>;

  Status AddRule(const std::string& kind, const std::string& text);
  // The negation that the word is or begins with; empty: none.
  std::string_view NegationOf(std::string_view word) const;
  bool Denies(const std::vector<std::string>& words) const;
  // Whether a word that these deny is in the other title, a text without spaces.
  bool DeniesWhatIsSaid(const std::vector<std::string>& words, std::string_view other) const;
  struct Title {
    std::string_view text;
    std::vector<std::string> words;
  };
  // Whether one of them alone denies, what the other says and in nearly all its words.
  bool IsDenial(const Title& a, const Title& b) const;
  bool HasOpposites(const Title& a, const Title& b) const;
  // Who does it and to whom, as far as particles or a verb between two names show.
  std::set<Names> Roles(const std::vector<std::string>& words) const;
  bool IsFound(std::string_view word, std::string_view compact) const;
  // The first word of `title` that may be a name; `other` says which forms both fill in.
  std::string Leading(std::string_view title, std::string_view other) const;

  std::vector<std::string> particles_;
  std::vector<std::string> subjects_;
  std::vector<std::string> objects_;
  std::set<std::string> relations_;
  std::set<std::string, std::less<>> negations_;
  std::set<std::string, std::less<>> negation_stems_;
  std::vector<Names> opposites_;
  std::vector<std::string> templates_;  // without spaces
  std::set<std::string> labels_;
};

}  // namespace winnow::dedup
