#pragma once

#include <cstdint>

namespace winnow::newsfeed {

// How far all articles, and their changes, have been looked through for words and keywords that are
// missing, or of other rules (index_rules.h).
struct IndexProgress {
  int64_t position = 0;
  bool complete = false;  // the end was reached once: what came since was made as it came or soon
};

// The version of what GramsOf (search_terms.h) makes of texts and ToTerms (keywords.h) of keywords.
// To be raised when either answers something else than before: what is stored follows by itself
// (index_worker.h).
inline constexpr int kIndexRules = 1;

}  // namespace winnow::newsfeed
