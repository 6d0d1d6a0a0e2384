#include "services/dedup/pair/character_overlap.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "services/dedup/text/tokens.h"
#include "services/dedup/text/unicode.h"

namespace winnow::dedup {
namespace {

// Each once, sorted: a character is its code point, a pair has the first one above.
std::vector<uint64_t> OnesAndTwos(std::string_view normalized) {
  const std::u32string points = DecodeUtf8(Compact(normalized));
  std::vector<uint64_t> grams;
  grams.reserve(2 * points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    grams.push_back(points[i]);
    if (i > 0) grams.push_back((uint64_t{points[i - 1]} + 1) << 32 | points[i]);
  }
  std::sort(grams.begin(), grams.end());
  grams.erase(std::unique(grams.begin(), grams.end()), grams.end());
  return grams;
}

}  // namespace

double CharacterSimilarity(std::string_view earlier, std::string_view later) {
  const std::vector<uint64_t> a = OnesAndTwos(earlier);
  const std::vector<uint64_t> b = OnesAndTwos(later);
  std::vector<uint64_t> shared;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
  if (shared.empty()) return 0;
  return static_cast<double>(shared.size()) /
         static_cast<double>(a.size() + b.size() - shared.size());
}

}  // namespace winnow::dedup
