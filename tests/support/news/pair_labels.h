#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace winnow::test {

// A pair of items of a file of news that was read and labelled.
struct PairLabel {
  size_t earlier = 0;  // index in the file, from 0
  size_t later = 0;
  double band = 0;  // lower end of title Jaccard
  bool is_same = false;
  std::string part;  // of the sample

  // Drawn where the rule was in doubt: pairs that say nothing of how common they are.
  bool is_near() const { return part == "near" || part == "2022-near"; }
};

// A file of labels, and the file of news that its pairs are of.
struct LabelledNews {
  const char* labels;
  const char* news;
};
inline constexpr LabelledNews kStreamPairs = {"dedup_pairs.txt", "stream-2026-02a.jsonl.gz"};
inline constexpr LabelledNews kPairsOf2022 = {"dedup_pairs_2022.txt", "knews-2022.jsonl.gz"};

// The pairs of a file in tests/data whose label is clear, of the repository that the process runs
// in. Throws when the file is bad.
std::vector<PairLabel> ReadPairLabels(const LabelledNews& sample = kStreamPairs);

// Number of pairs of a band in the whole stream, by which its sample is weighed.
double PairsInBand(double band);

}  // namespace winnow::test
