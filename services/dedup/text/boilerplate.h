#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/text/wording.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// What newsrooms put around a text: agency brackets, bylines, labels, copyright lines, outlet
// names. Rules are data (data/boilerplate.txt says what each kind does); texts are code points
// after NFKC and case folding, still with their punctuation.
class Boilerplate {
 public:
  // Error: INVALID_ARGUMENT that names the line.
  static StatusOr<Boilerplate> Parse(std::string_view table);

  // Everything the rules match becomes a space.
  std::u32string Remove(std::u32string text) const;

 private:
  Status AddRule(std::string_view kind, std::u32string rule);
  bool IsDroppedGroup(std::u32string_view content) const;
  bool IsTag(std::u32string_view content) const;
  bool NamesAgency(std::u32string_view content) const;
  // `held`: of the text, or of what it was: wordings that cannot be in it are not looked for.
  void RemoveLiterals(const CharacterMask& held, std::u32string& text) const;
  void RemoveGroups(std::u32string& text) const;
  void RemovePhrases(const CharacterMask& held, std::u32string& text) const;
  void RemoveBylines(const CharacterMask& held, std::u32string& text) const;
  void RemovePrefix(std::u32string& text) const;
  void RemoveSuffix(std::u32string& text) const;
  size_t BylineBegin(std::u32string_view text, size_t role_begin) const;

  std::set<std::u32string> tags_;         // without spaces; '#' stands for a number
  std::vector<std::u32string> agencies_;  // without spaces
  std::vector<Wording> roles_;            // longest first
  std::vector<Wording> phrases_;          // likewise; letters and digits only
  std::vector<Wording> literals_;         // likewise
  std::set<std::u32string> prefixes_;
  std::vector<std::u32string> suffixes_;
};

}  // namespace winnow::dedup
