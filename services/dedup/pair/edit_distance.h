#pragma once

#include <cstddef>
#include <string_view>

namespace winnow::dedup {

// Damerau-Levenshtein distance in code points, as optimal string alignment: the least number of
// insertions, deletions, replacements and swaps of neighbours, where no place is edited twice.
// Bit-parallel: 64 cells of the matrix a step.
size_t EditDistance(std::u32string_view a, std::u32string_view b);

// 1 - distance / length of the longer one, within [0, 1]; two empty texts are equal: 1.
double EditSimilarity(std::u32string_view a, std::u32string_view b);

}  // namespace winnow::dedup
