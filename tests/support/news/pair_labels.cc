#include "tests/support/news/pair_labels.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace winnow::test {

std::vector<PairLabel> ReadPairLabels(const LabelledNews& sample) {
  const std::string path = std::string("tests/data/") + sample.labels;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path + ": run in the repository");
  std::vector<PairLabel> pairs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    PairLabel pair;
    std::string label;
    fields >> pair.earlier >> pair.later >> pair.band >> label >> pair.part;
    if (!fields || pair.earlier == 0 || pair.later == 0) {
      throw std::runtime_error(std::string("a line of ").append(path) + " is no pair: " + line);
    }
    if (label == "unclear") continue;
    --pair.earlier;
    --pair.later;
    pair.is_same = label == "same";
    pairs.push_back(pair);
  }
  return pairs;
}

double PairsInBand(double band) {
  if (band < 0.25) return 3845;
  if (band < 0.35) return 1724;
  return band < 0.45 ? 965 : 1318;
}

}  // namespace winnow::test
