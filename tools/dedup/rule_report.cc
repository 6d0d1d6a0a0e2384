// What the decision rule is worth on the hand-read pairs (tests/data/dedup_pairs*.txt), by mode,
// part of the sample and band; run in the repository, with WINNOW_DATA:
//
//   rule_report [COSINES CALIBRATED_MODEL]
//
// COSINES: a file of one cosine a pair, in the order of the clear labels (embedder_report writes
// it). Precision and recall are given as counted, with 95 % intervals (Wilson), and weighed by how
// often each band occurs in the stream.
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/dedup/embedding/embedder_calibration.h"
#include "services/dedup/pair/decision_rule.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/news/news_stream.h"
#include "tests/support/news/pair_labels.h"

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

struct Interval {
  double low = 0;
  double high = 0;
};

Interval Wilson(double right, double all) {
  constexpr double kZ = 1.96;
  const double p = right / all;
  const double middle = p + kZ * kZ / (2 * all);
  const double half = kZ * std::sqrt(p * (1 - p) / all + kZ * kZ / (4 * all * all));
  const double scale = 1 + kZ * kZ / all;
  return {(middle - half) / scale, (middle + half) / scale};
}

std::ostream& operator<<(std::ostream& out, const Interval& interval) {
  return out << " [" << interval.low << ", " << interval.high << "]";
}

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
  std::cout << std::fixed << std::setprecision(3) << name << ", " << pairs.size()
            << " pairs: precision " << all.precision() << Wilson(all.right, all.right + all.wrong)
            << " recall " << all.recall() << Wilson(all.right, all.right + all.missed)
            << ", weighed " << weighed.precision() << " / " << weighed.recall() << "\n";
  for (const auto& [band, counts] : bands) {
    std::cout << "  from " << std::setprecision(1) << band << std::setprecision(3) << ": "
              << counts.right << " right, " << counts.wrong << " wrong, " << counts.missed
              << " missed\n";
  }
}

// None where the news is not there.
std::vector<Pair> Measure(const winnow::test::LabelledNews& sample) {
  const auto news = winnow::test::ReadNews(sample.news);
  const TextRules rules = LoadTextRules().value();
  const TitleWords words = LoadTitleWords().value();
  std::vector<Pair> pairs;
  if (news.empty()) return pairs;
  for (const PairLabel& label : winnow::test::ReadPairLabels(sample)) {
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

// Of the labels' files; the weights were fitted to the first four.
constexpr std::array kParts = {"first", "learn", "second",      "near",      "held",
                               "last",  "2022",  "2022-second", "2022-near", "2022-last"};

void ReportParts(const std::string& name, const std::vector<Pair>& pairs,
                 const RuleSettings& settings) {
  for (const char* part : kParts) {
    std::vector<Pair> some;
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(some),
                 [&](const Pair& pair) { return pair.label.part == part; });
    if (!some.empty()) Report(name + ", " + part, some, settings);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Pair> pairs = Measure(winnow::test::kStreamPairs);
  for (Pair& pair : Measure(winnow::test::kPairsOf2022)) pairs.push_back(std::move(pair));
  if (pairs.empty()) {
    std::cout << "not run: WINNOW_DATA holds no news\n";
    return 0;
  }
  RuleSettings calibrated;
  calibrated.mode = RuleMode::kCalibrated;
  ReportParts("published", pairs, RuleSettings());
  ReportParts("calibrated", pairs, calibrated);
  if (argc != 3) return 0;
  const EmbedderCalibration* model = FindCalibration(argv[2]);
  std::ifstream cosines(argv[1]);
  if (model == nullptr || !cosines) {
    std::cerr << "no calibration of " << argv[2] << ", or no file " << argv[1] << "\n";
    return 2;
  }
  for (Pair& pair : pairs) {
    double cosine = 0;
    if (!(cosines >> cosine)) {
      std::cerr << argv[1] << " has not one cosine a pair: let embedder_report write it\n";
      return 2;
    }
    pair.features.semantic = model->Scale(cosine);
  }
  ReportParts("published with " + std::string(argv[2]), pairs, RuleSettings());
  ReportParts("calibrated with " + std::string(argv[2]), pairs, calibrated);
  return 0;
}
