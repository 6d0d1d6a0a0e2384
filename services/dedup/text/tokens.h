#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "services/platform/base/function_ref.h"

namespace winnow::dedup {

// Characters of a gram. Word tokens lose 4 to 9 AUC points on Korean, grams without spaces let
// spacing variants meet.
inline constexpr size_t kGramLength = 3;

// A normalised text without its spaces.
std::string Compact(std::string_view normalized);
// The same into `compact`, which is overwritten.
void CompactTo(std::string_view normalized, std::string& compact);

// Calls visit(gram) for every run of kGramLength characters of a text without spaces; for a shorter
// text as a whole.
template <class Visit>
void ForEachGram(std::string_view compact, const Visit& visit) {
  std::array<size_t, kGramLength> begins;  // of the last characters, by number
  size_t count = 0;
  for (size_t at = 0; at < compact.size(); ++at) {
    if ((static_cast<unsigned char>(compact[at]) & 0xC0U) == 0x80U) continue;
    size_t& begin = begins[count % kGramLength];
    if (count >= kGramLength) visit(compact.substr(begin, at - begin));
    begin = at;
    ++count;
  }
  if (count == 0) return;
  visit(count < kGramLength ? compact : compact.substr(begins[count % kGramLength]));
}

// Calls visit(word) for every word that has a Latin letter, marked by a leading '='.
void ForEachWord(std::string_view normalized, FunctionRef<void(std::string_view)> visit);

// Calls visit(token) for each token of a normalised text, repeats included.
template <class Visit>
void ForEachToken(std::string_view normalized, const Visit& visit) {
  ForEachGram(Compact(normalized), visit);
  ForEachWord(normalized, visit);
}

}  // namespace winnow::dedup
