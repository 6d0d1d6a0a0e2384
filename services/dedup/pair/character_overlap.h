#pragma once

#include <string_view>

namespace winnow::dedup {

// Jaccard similarity of two normalised titles by their characters and pairs of neighbours, spaces
// left out; 0 where either is empty. Of the measures without a model it separates short sentences
// best, where threes, which the index goes by, are too rare to share.
double CharacterSimilarity(std::string_view earlier, std::string_view later);

}  // namespace winnow::dedup
