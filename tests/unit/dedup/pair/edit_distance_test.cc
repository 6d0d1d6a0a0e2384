#include "services/dedup/pair/edit_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "services/dedup/text/unicode.h"
#include "tests/support/dedup/dedup_world.h"

namespace winnow::dedup {
namespace {

// The matrix, cell by cell.
size_t ByMatrix(const std::u32string& a, const std::u32string& b) {
  std::vector<std::vector<size_t>> cells(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cells[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cells[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = cells[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cells[i][j] = std::min({cells[i - 1][j] + 1, cells[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cells[i][j] = std::min(cells[i][j], cells[i - 2][j - 2] + 1);
      }
    }
  }
  return cells[a.size()][b.size()];
}

class Texts {
 public:
  explicit Texts(uint64_t seed) : random_(seed), letters_(1 + Below(8)) {}
  size_t Below(size_t bound) { return random_() % bound; }
  char32_t Letter() { return static_cast<char32_t>(U'가' + Below(letters_) * 11); }
  std::u32string Next() {
    // About the lengths where words of 64 begin and end, too.
    const size_t lengths[] = {Below(4), Below(40), 60 + Below(9), 120 + Below(20), Below(300)};
    std::u32string text;
    for (size_t left = lengths[Below(5)]; left > 0; --left) text.push_back(Letter());
    return text;
  }
  std::u32string Vary(std::u32string text) {
    for (size_t edits = Below(12); edits > 0 && !text.empty(); --edits) {
      const size_t at = Below(text.size());
      const size_t kind = Below(4);
      if (kind == 0) text.erase(at, 1);
      if (kind == 1) text.insert(at, 1, Letter());
      if (kind == 2) text[at] = Letter();
      if (kind == 3 && at > 0) std::swap(text[at - 1], text[at]);
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
  size_t letters_;
};

TEST(EditDistance, EqualsTheMatrixForEveryPair) {
  const uint64_t worlds = WorldCount(400);
  for (uint64_t seed = 1; seed <= worlds && !HasFailure(); ++seed) {
    Texts texts(seed);
    const std::u32string a = texts.Next();
    for (const std::u32string& b : {texts.Vary(a), texts.Next()}) {
      EXPECT_EQ(EditDistance(a, b), ByMatrix(a, b)) << "seed " << seed;
      EXPECT_EQ(EditDistance(b, a), EditDistance(a, b)) << "seed " << seed;
    }
  }
}

TEST(EditDistance, CountsASwapOfNeighboursAsOneAndEditsNoPlaceTwice) {
  EXPECT_EQ(EditDistance(U"금리 인상", U"금리 상인"), 1U);
  EXPECT_EQ(EditDistance(U"ca", U"abc"), 3U);
  EXPECT_EQ(EditDistance(U"", U"abc"), 3U);
  EXPECT_EQ(EditDistance(U"kitten", U"sitting"), 3U);
}

TEST(EditDistance, SimilarityIsWithinZeroAndOne) {
  EXPECT_EQ(EditSimilarity(U"", U""), 1.0);
  EXPECT_EQ(EditSimilarity(U"ab", U"cd"), 0.0);
  EXPECT_EQ(EditSimilarity(U"abcd", U"abce"), 0.75);
}

}  // namespace
}  // namespace winnow::dedup
