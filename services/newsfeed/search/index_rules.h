#pragma once

namespace winnow::newsfeed {

// The version of what GramsOf (search_terms.h) makes of texts and ToTerms (keywords.h) of keywords.
// To be raised when either answers something else than before: what is stored follows by itself
// (index_worker.h).
inline constexpr int kIndexRules = 1;

}  // namespace winnow::newsfeed
