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
};

// The pairs of tests/data/dedup_pairs.txt whose label is clear, of the repository that the process
// runs in. Throws when the file is bad.
std::vector<PairLabel> ReadPairLabels();

// Number of pairs of a band in the whole stream, by which the sample is weighed.
double PairsInBand(double band);

}  // namespace winnow::test
