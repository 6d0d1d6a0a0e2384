#include "services/dedup/pair/edit_distance.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace winnow::dedup {
namespace {

constexpr size_t kWord = 64;

// Which places of a text hold a character, as bits, 64 places a word.
class Places {
 public:
  explicit Places(std::u32string_view text)
      : words_((text.size() + kWord - 1) / kWord), characters_(text.begin(), text.end()) {
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
    bits_.resize((characters_.size() + 1) * words_);
    for (size_t i = 0; i < text.size(); ++i) {
      bits_[RowOf(text[i]) * words_ + i / kWord] |= uint64_t{1} << i % kWord;
    }
  }
  size_t words() const { return words_; }
  // Of a character the text does not hold: nothing but zeros.
  const uint64_t* Of(char32_t character) const { return &bits_[RowOf(character) * words_]; }

 private:
  size_t RowOf(char32_t character) const {
    const auto at = std::lower_bound(characters_.begin(), characters_.end(), character);
    const bool is_there = at != characters_.end() && *at == character;
    return is_there ? static_cast<size_t>(at - characters_.begin()) : characters_.size();
  }

  size_t words_;
  std::u32string characters_;
  std::vector<uint64_t> bits_;
};

// One word of a column of the matrix: differences between neighbouring cells (Hyyro's notation).
struct Word {
  uint64_t rises = ~uint64_t{0};  // the cell is one more than that above
  uint64_t falls = 0;             // one less
  uint64_t zeros = 0;             // the cell equals its upper left neighbour
};

// What a word hands to the one below.
struct Carry {
  uint64_t right_rise = 1;  // the first row grows by one each column
  uint64_t right_fall = 0;
  uint64_t swap = 0;
};

// One column of one word. `last_row_bit` is of the text's last character, or 0.
int Step(Word& word, uint64_t match, uint64_t match_before, uint64_t last_row_bit, Carry& carry) {
  const uint64_t may_swap = ~word.zeros & match;
  const uint64_t swapped = (may_swap << 1 | carry.swap) & match_before;
  carry.swap = may_swap >> (kWord - 1);
  const uint64_t equal = match | carry.right_fall;
  word.zeros = (((equal & word.rises) + word.rises) ^ word.rises) | equal | word.falls | swapped;
  uint64_t right_rises = word.falls | ~(word.zeros | word.rises);
  uint64_t right_falls = word.zeros & word.rises;
  const int change =
      ((right_rises & last_row_bit) != 0 ? 1 : 0) - ((right_falls & last_row_bit) != 0 ? 1 : 0);
  const uint64_t rise_out = right_rises >> (kWord - 1);
  const uint64_t fall_out = right_falls >> (kWord - 1);
  right_rises = right_rises << 1 | carry.right_rise;
  right_falls = right_falls << 1 | carry.right_fall;
  carry.right_rise = rise_out;
  carry.right_fall = fall_out;
  word.rises = right_falls | ~(word.zeros | right_rises);
  word.falls = right_rises & word.zeros;
  return change;
}

}  // namespace

size_t EditDistance(std::u32string_view a, std::u32string_view b) {
  // What both begin or end with costs nothing.
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) return b.size();
  const Places places(a);
  std::vector<Word> column(places.words());
  const std::vector<uint64_t> nothing(places.words());
  const uint64_t* before = nothing.data();
  const uint64_t last_row_bit = uint64_t{1} << (a.size() - 1) % kWord;
  size_t distance = a.size();
  for (const char32_t character : b) {
    const uint64_t* match = places.Of(character);
    Carry carry;
    for (size_t i = 0; i < column.size(); ++i) {
      const uint64_t last = i + 1 == column.size() ? last_row_bit : 0;
      distance += static_cast<size_t>(Step(column[i], match[i], before[i], last, carry));
    }
    before = match;
  }
  return distance;
}

double EditSimilarity(std::u32string_view a, std::u32string_view b) {
  const size_t longer = std::max(a.size(), b.size());
  if (longer == 0) return 1;
  return 1 - static_cast<double>(EditDistance(a, b)) / static_cast<double>(longer);
}

}  // namespace winnow::dedup
