#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// What the embedded model sees of a normalised comment: hashed n-grams of 1 to 5 characters and of
// 1 to 2 words. Inline, since it is the hot loop of everything here.
namespace winnow::classification {

// Stand-ins, of the private use area, for what was masked.
inline constexpr char32_t kUrlMark = 0xE000;
inline constexpr char32_t kHandleMark = 0xE001;

// A comment as the embedded model reads it: NFKC with case folding and without invisible
// characters; Hangul compatibility jamo stay as typed (NFKC would join the two of "ㅋㅠ" into a
// syllable that was not written); URLs and @handles become marks; white space becomes single
// spaces, one at each end; runs of a character are cut to two. What NFKC makes longer than the
// text's own bytes (one U+FDFA becomes 18 characters) is cut there, beyond 1,000: comments that
// people write never are.
void NormalizeComment(std::string_view text, std::u32string& out);

inline constexpr int kBucketBits = 20;
inline constexpr size_t kBuckets = size_t{1} << kBucketBits;
inline constexpr size_t kMaxCharacters = 5;

inline uint64_t MixFeature(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}
inline uint32_t ToBucket(uint64_t hash) {
  return static_cast<uint32_t>((hash * 0xD6E8FEB86659FD93U) >> (64 - kBucketBits));
}

// Calls `feature(bucket, begin, end)` for each n-gram of `text` (of NormalizeComment), which is
// text[begin, end); a repeated n-gram comes again. Answers how many came.
template <class Feature>
size_t ForEachFeature(std::u32string_view text, Feature&& feature) {
  size_t count = 0;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    uint64_t hash = 0;
    const size_t most = text.size() - begin < kMaxCharacters ? text.size() - begin : kMaxCharacters;
    for (size_t length = 1; length <= most; ++length) {
      hash = MixFeature(hash, text[begin + length - 1]);
      if (length == 1 && text[begin] == U' ') continue;
      feature(ToBucket(hash), begin, begin + length);
      ++count;
    }
  }
  constexpr uint64_t kWordSeed = 0x5851F42D4C957F2DU;
  uint64_t before = 0;  // hash of the word before, which begins at before_begin
  size_t before_begin = 0;
  for (size_t begin = 1; begin < text.size();) {
    uint64_t hash = kWordSeed;
    size_t end = begin;
    while (end < text.size() && text[end] != U' ') hash = MixFeature(hash, text[end++]);
    if (end == begin) break;
    feature(ToBucket(hash), begin, end);
    ++count;
    if (before != 0) {
      feature(ToBucket(MixFeature(before, hash)), before_begin, end);
      ++count;
    }
    before = hash;
    before_begin = begin;
    begin = end + 1;
  }
  return count;
}

}  // namespace winnow::classification
