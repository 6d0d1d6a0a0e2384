#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace winnow::dedup {

// Characters of a gram. Word tokens lose 4 to 9 AUC points on Korean, grams without spaces let
// spacing variants meet.
inline constexpr size_t kGramLength = 3;

// Calls visit(token) for each token of a normalised text, repeats included: every run of
// kGramLength characters with spaces left out (a shorter text is one token as a whole), and every
// word that has a Latin letter, marked by a leading '='.
void ForEachToken(std::string_view normalized, const std::function<void(std::string_view)>& visit);

// A normalised text without its spaces.
std::string Compact(std::string_view normalized);

}  // namespace winnow::dedup
