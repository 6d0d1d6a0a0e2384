#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

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

inline constexpr size_t kMaxHeads = 8;

// One labelling policy that the model learned: a linear function of n-grams.
struct Head {
  std::string name;  // "toxic"
  double scale = 0;  // of the int8 weights
  double bias = 0;
  double slope = -1;  // Platt: probability = 1 / (1 + exp(slope * score + offset))
  double offset = 0;
  double threshold = 0.5;  // probability with the best macro-F1 in cross-validation
};

// An n-gram of a text and what it added to a head's score.
struct Contribution {
  std::string ngram;  // UTF-8, as normalised; masked URLs and handles are "<url>", "<handle>"
  double weight = 0;
};

// Calibrated probabilities, by head.
using Scores = std::array<float, kMaxHeads>;

// The embedded classifier. Immutable, hence safe from any thread.
class LinearModel {
 public:
  // What the trainer wrote. INTERNAL for anything else.
  static StatusOr<LinearModel> Parse(std::string_view bytes);
  // The bytes that Parse takes; `weights` are kBuckets times heads, a bucket's beside each other.
  static std::string Serialize(const std::string& version, std::span<const Head> heads,
                               std::span<const int8_t> weights);

  const std::string& version() const { return version_; }
  const std::vector<Head>& heads() const { return heads_; }
  // Index of a head, or -1.
  int Find(std::string_view name) const;

  // Probability of each head; beyond heads() they are 0.
  Scores Score(std::string_view text) const;
  // The n-grams that weighed most on a head, at most `count`, by what they added, whatever its
  // sign; those that stand inside one that weighed more are left out.
  std::vector<Contribution> Explain(std::string_view text, size_t head, size_t count) const;

 private:
  std::string version_;
  std::vector<Head> heads_;
  std::vector<std::array<int8_t, kMaxHeads>> weights_;  // by bucket
};

// The model that is compiled in; made once. The process cannot start without it: a test parses it.
const LinearModel& EmbeddedModel();

}  // namespace winnow::classification
