// Calibrates an embedder: how its cosines lie on random pairs of titles and on the hand-read ones
// (tests/data/dedup_pairs.txt). Run in the repository, with WINNOW_DATA, against a running server:
//
//   embedder_report URL MODEL [COSINES]
//
// Proposes the line for services/dedup/embedding/embedder_calibration.cc, and writes one cosine a
// clear pair to the file COSINES for rule_report: of the stream's pairs, then of those of 2022.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "tests/support/news/news_stream.h"
#include "tests/support/news/pair_labels.h"

namespace {

using namespace winnow::dedup;

constexpr size_t kRandomTitles = 200;
constexpr double kPrecision = 0.95;
constexpr std::chrono::minutes kTime{20};

class Vectors {
 public:
  Vectors(Embedder& embedder, const std::vector<winnow::test::NewsItem>& news)
      : embedder_(embedder), news_(news) {}
  const index::Vector& Of(size_t item) {
    auto [at, is_new] = known_.try_emplace(item);
    if (is_new) {
      const std::vector<std::string> text = {rules_.normalizer().Normalize(news_.at(item).title)};
      at->second = embedder_.Embed(text, std::chrono::steady_clock::now() + kTime).value().front();
    }
    return at->second;
  }
  double Cosine(size_t a, size_t b) {
    const index::Vector first = Of(a);
    return index::VectorCosine(first, Of(b));
  }

 private:
  Embedder& embedder_;
  const std::vector<winnow::test::NewsItem>& news_;
  TextRules rules_ = LoadTextRules().value();
  std::map<size_t, index::Vector> known_;
};

double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// The least cosine from which on precision is kPrecision.
double LeastMatch(const std::vector<winnow::test::PairLabel>& labels,
                  const std::vector<double>& cosines) {
  double least = 1;
  for (int percent = 999; percent > 0; --percent) {
    const double threshold = percent / 1000.0;
    double right = 0;
    double wrong = 0;
    double same = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i].is_near()) continue;
      same += labels[i].is_same ? 1 : 0;
      if (cosines[i] >= threshold) ++(labels[i].is_same ? right : wrong);
    }
    if (right + wrong == 0 || right / (right + wrong) < kPrecision) continue;
    least = threshold;
    if (percent % 10 == 0) {
      std::printf("from %.2f: precision %.3f recall %.3f\n", threshold, right / (right + wrong),
                  right / same);
    }
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr << "usage: embedder_report URL MODEL [COSINES]\n";
    return 2;
  }
  const auto news = winnow::test::ReadNews("stream-2026-02a.jsonl.gz");
  if (news.empty()) {
    std::cout << "not run: WINNOW_DATA holds no news\n";
    return 0;
  }
  winnow::Metrics metrics;
  EmbedderOptions options;
  options.url = argv[1];
  options.model = argv[2];
  options.timeout = std::chrono::seconds(60);
  const auto embedder = MakeHttpEmbedder(options, EmbedderCalibration{argv[2], 0, 1}, metrics);
  if (!embedder.ok()) {
    std::cerr << embedder.status() << "\n";
    return 1;
  }
  Vectors vectors(**embedder, news);
  std::mt19937_64 random(1);
  std::vector<size_t> sample(kRandomTitles);
  for (size_t& item : sample) item = random() % news.size();
  std::vector<double> pairs;
  for (size_t i = 0; i < sample.size(); ++i) {
    for (size_t j = 0; j < i; ++j) pairs.push_back(vectors.Cosine(sample[i], sample[j]));
  }
  std::sort(pairs.begin(), pairs.end());
  std::printf("random pairs: median %.3f, 99 %% below %.3f, 99.9 %% below %.3f\n",
              Quantile(pairs, 0.5), Quantile(pairs, 0.99), Quantile(pairs, 0.999));
  const auto labels = winnow::test::ReadPairLabels();
  std::vector<double> cosines;
  for (const auto& label : labels) cosines.push_back(vectors.Cosine(label.earlier, label.later));
  const double match = LeastMatch(labels, cosines);
  std::printf("{\"%s\", %.3f, %.3f}\n", argv[2], Quantile(pairs, 0.5), match);
  if (argc == 4) {
    std::ofstream file(argv[3]);
    for (const double cosine : cosines) file << cosine << "\n";
    const auto older = winnow::test::ReadNews(winnow::test::kPairsOf2022.news);
    Vectors vectors_of_2022(**embedder, older);
    for (const auto& label : winnow::test::ReadPairLabels(winnow::test::kPairsOf2022)) {
      file << vectors_of_2022.Cosine(label.earlier, label.later) << "\n";
    }
  }
  return 0;
}
