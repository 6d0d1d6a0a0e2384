// What the decision rule is worth on the hand-read pairs (tests/data/dedup_pairs.txt), by mode and
// band; run in the repository, with WINNOW_DATA:
//
//   rule_report [COSINES CALIBRATED_MODEL]
//
// COSINES: a file of one cosine a pair, in the order of the clear labels (embedder_report writes
// it). Precision and recall are given as counted, and weighed by how often each band occurs.
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "services/dedup/decision_rule.h"
#include "services/dedup/embedder_calibration.h"
#include "services/dedup/service_text_rules.h"
#include "tests/support/news_stream.h"
#include "tests/support/pair_labels.h"

namespace {

using namespace winnow::dedup;
using winnow::test::PairLabel;

struct Counts {
  double right = 0;
  double wrong = 0;
  double missed = 0;
  void Add(bool is_same, bool is_found, double weight) {
    if (is_found) (is_same ? right : wrong) += weight;
    if (!is_found && is_same) missed += weight;
  }
  double precision() const { return right / (right + wrong); }
  double recall() const { return right / (right + missed); }
};

struct Pair {
  PairLabel label;
  PairFeatures features;
};

void Report(const std::string& name, const std::vector<Pair>& pairs, const RuleSettings& settings) {
  Counts all;
  Counts weighed;
  std::map<double, Counts> bands;
  std::map<double, double> sizes;
  for (const Pair& pair : pairs) ++sizes[pair.label.band];
  for (const Pair& pair : pairs) {
    const double band = pair.label.band;
    const bool is_found = Rule(pair.features, settings).is_duplicate();
    all.Add(pair.label.is_same, is_found, 1);
    weighed.Add(pair.label.is_same, is_found, winnow::test::PairsInBand(band) / sizes[band]);
    bands[band].Add(pair.label.is_same, is_found, 1);
  }
  std::cout << std::fixed << std::setprecision(3) << name << ": precision " << all.precision()
            << " recall " << all.recall() << ", weighed " << weighed.precision() << " / "
            << weighed.recall() << "\n";
  for (const auto& [band, counts] : bands) {
    std::cout << "  from " << std::setprecision(1) << band << std::setprecision(3) << ": "
              << counts.right << " right, " << counts.wrong << " wrong, " << counts.missed
              << " missed\n";
  }
}

std::vector<Pair> Measure(const std::vector<winnow::test::NewsItem>& news) {
  const TextRules rules = LoadTextRules().value();
  const TitleWords words = LoadTitleWords().value();
  std::vector<Pair> pairs;
  for (const PairLabel& label : winnow::test::ReadPairLabels()) {
    const auto& a = news.at(label.earlier);
    const auto& b = news.at(label.later);
    const Fingerprint first = rules.Of(a.title, a.snippet, a.url);
    const Fingerprint second = rules.Of(b.title, b.snippet, b.url);
    pairs.push_back({label, FeaturesOf({first.normalized_title, first.title, first.lead},
                                       {second.normalized_title, second.title, second.lead},
                                       b.publish_time - a.publish_time, words)});
  }
  return pairs;
}

}  // namespace

int main(int argc, char** argv) {
  const auto news = winnow::test::ReadNews("stream-2026-02a.jsonl.gz");
  if (news.empty()) {
    std::cout << "not run: WINNOW_DATA holds no news\n";
    return 0;
  }
  std::vector<Pair> pairs = Measure(news);
  std::cout << pairs.size() << " pairs\n";
  RuleSettings calibrated;
  calibrated.mode = RuleMode::kCalibrated;
  Report("published", pairs, RuleSettings());
  Report("calibrated", pairs, calibrated);
  if (argc != 3) return 0;
  const EmbedderCalibration* model = FindCalibration(argv[2]);
  std::ifstream cosines(argv[1]);
  if (model == nullptr || !cosines) {
    std::cerr << "no calibration of " << argv[2] << ", or no file " << argv[1] << "\n";
    return 2;
  }
  for (Pair& pair : pairs) {
    double cosine = 0;
    cosines >> cosine;
    pair.features.semantic = model->Scale(cosine);
  }
  Report("published with " + std::string(argv[2]), pairs, RuleSettings());
  Report("calibrated with " + std::string(argv[2]), pairs, calibrated);
  return 0;
}
