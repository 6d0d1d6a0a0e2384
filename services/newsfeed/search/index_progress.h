#pragma once

#include <cstdint>

namespace winnow::newsfeed {

// How far all articles, and their changes, have been looked through for words and keywords that are
// missing, or of other rules (index_rules.h).
struct IndexProgress {
  int64_t position = 0;
  bool complete = false;  // the end was reached once: what came since was made as it came or soon
};

}  // namespace winnow::newsfeed
