#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace winnow::dedup {

// Which characters a text holds, roughly: some that it does not hold may seem to be there, none
// that it holds is missing. Most texts hold none of the wordings that rules look for, and to see
// that by 32 bytes is far quicker than a search for each.
class CharacterMask {
 public:
  explicit CharacterMask(std::u32string_view text) {
    for (const char32_t point : text) Add(point);
  }

  void Add(char32_t point) {
    const uint32_t bit = (uint32_t{point} * 0x9E3779B9U) >> 24;
    words_[bit / 64] |= uint64_t{1} << bit % 64;
  }

  // False: this text lacks a character of the other.
  bool MayHold(const CharacterMask& other) const {
    uint64_t missing = 0;
    for (size_t i = 0; i < words_.size(); ++i) missing |= other.words_[i] & ~words_[i];
    return missing == 0;
  }

 private:
  std::array<uint64_t, 4> words_{};
};

// What a rule looks for in a text.
struct Wording {
  explicit Wording(std::u32string wording) : text(std::move(wording)), mask(text) {}

  std::u32string text;
  CharacterMask mask;
};

}  // namespace winnow::dedup
