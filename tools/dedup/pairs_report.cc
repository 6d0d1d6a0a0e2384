// How well sentences of the same meaning are separated from others: best F1 and AUC over the
// the public sets of WINNOW_DATA/pairs, by each score that needs no model, by the best known
// lexical floor (Jaccard of characters in twos, measured in the same run), and by a model where one
// is given. Run in the repository:
//
//   pairs_report SET [URL MODEL]      SET: korsts-dev, korsts-train, question-pair-train, parakqc
//
// KorSTS: the same from score 4 on. paraKQC: of each group of ten, all 45 pairs are the same; as
// many pairs are of two groups drawn at random (seed 1).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "services/dedup/embedding/embedder_client.h"
#include "services/dedup/pair/character_overlap.h"
#include "services/dedup/pair/decision_rule.h"
#include "services/dedup/text/embedded_text_rules.h"
#include "services/dedup/text/tokens.h"
#include "services/dedup/text/unicode.h"
#include "tests/support/news/sentence_pairs.h"

namespace {

using namespace winnow::dedup;
using winnow::test::SentencePair;

constexpr std::chrono::minutes kTime{30};
constexpr size_t kAtOnce = 16;

struct Scored {
  double score = 0;
  bool is_same = false;
};

struct Worth {
  double f1 = 0;
  double threshold = 0;
  double auc = 0;
};

// Equal scores count as one step.
Worth WorthOf(std::vector<Scored> scored) {
  std::sort(scored.begin(), scored.end(),
            [](const Scored& a, const Scored& b) { return a.score > b.score; });
  double same = 0;
  for (const Scored& each : scored) same += each.is_same ? 1 : 0;
  const double other = static_cast<double>(scored.size()) - same;
  Worth worth;
  double right = 0;
  double wrong = 0;
  for (size_t i = 0; i < scored.size();) {
    const double before_right = right;
    const double before_wrong = wrong;
    const double score = scored[i].score;
    for (; i < scored.size() && scored[i].score == score; ++i)
      ++(scored[i].is_same ? right : wrong);
    worth.auc += (wrong - before_wrong) * (right + before_right) / 2;
    const double f1 = 2 * right / (same + right + wrong);
    if (f1 > worth.f1) worth = {f1, score, worth.auc};
  }
  worth.auc /= same * other;
  return worth;
}

// What the tables of the data's README measured: characters in twos, without spaces.
double CharacterJaccard(const std::string& a, const std::string& b) {
  const auto grams = [](const std::string& text) {
    std::u32string points;
    for (const char32_t point : DecodeUtf8(text)) {
      if (point != U' ') points += point;
    }
    std::set<std::u32string> set;
    for (size_t i = 0; i + 1 < points.size(); ++i) set.insert(points.substr(i, 2));
    if (set.empty()) set.insert(points);
    return set;
  };
  const auto first = grams(a);
  const auto second = grams(b);
  size_t shared = 0;
  for (const auto& gram : first) shared += second.count(gram);
  return static_cast<double>(shared) / static_cast<double>(first.size() + second.size() - shared);
}

void Print(const std::string& name, const std::vector<Scored>& scored) {
  const Worth worth = WorthOf(scored);
  std::printf("%-32s best F1 %.3f from %.3f on, AUC %.3f\n", name.c_str(), worth.f1,
              worth.threshold, worth.auc);
}

void PrintLexical(const std::vector<SentencePair>& pairs) {
  const TextRules rules = LoadTextRules().value();
  std::map<std::string, std::vector<Scored>> by_score;
  for (const SentencePair& pair : pairs) {
    const Fingerprint a = rules.Of(pair.first, "", "");
    const Fingerprint b = rules.Of(pair.second, "", "");
    const PairFeatures f =
        FeaturesOf({a.normalized_title, a.title, {}}, {b.normalized_title, b.title, {}},
                   winnow::Micros(0), rules.words());
    const auto add = [&](const char* name, double score) {
      by_score[name].push_back({score, pair.is_same});
    };
    add("characters in twos (floor)", CharacterJaccard(a.normalized_title, b.normalized_title));
    add("characters in ones and twos", CharacterSimilarity(a.normalized_title, b.normalized_title));
    add("title Jaccard", f.title_jaccard);
    add("title cosine", f.title_cosine);
    add("title overlap", f.title_overlap);
    add("edit similarity", f.edit_similarity);
    add("Jaccard + edit similarity", f.title_jaccard + f.edit_similarity);
    add("calibrated probability", ProbabilityOfOneStory(f, RuleSettings()));
  }
  for (const auto& [name, scored] : by_score) Print(name, scored);
}

int PrintByModel(const std::vector<SentencePair>& pairs, const char* url, const char* model) {
  winnow::Metrics metrics;
  EmbedderOptions options;
  options.url = url;
  options.model = model;
  options.timeout = std::chrono::seconds(60);
  const auto embedder = MakeHttpEmbedder(options, EmbedderCalibration{model, 0, 1}, metrics);
  if (!embedder.ok()) {
    std::cerr << embedder.status() << "\n";
    return 1;
  }
  const TextRules rules = LoadTextRules().value();
  const auto text_of = [&](const std::string& text) { return rules.normalizer().Normalize(text); };
  std::map<std::string, index::Vector> vectors;
  for (const SentencePair& pair : pairs) {
    vectors[text_of(pair.first)];
    vectors[text_of(pair.second)];
  }
  std::vector<std::string> texts;
  for (const auto& [text, vector] : vectors) texts.push_back(text);
  const auto deadline = std::chrono::steady_clock::now() + kTime;
  for (size_t at = 0; at < texts.size(); at += kAtOnce) {
    const std::span<const std::string> some(texts.data() + at,
                                            std::min(kAtOnce, texts.size() - at));
    const auto got = (*embedder)->Embed(some, deadline).value();
    for (size_t i = 0; i < some.size(); ++i) vectors[some[i]] = got[i];
  }
  std::vector<Scored> scored;
  for (const SentencePair& pair : pairs) {
    scored.push_back(
        {index::VectorCosine(vectors.at(text_of(pair.first)), vectors.at(text_of(pair.second))),
         pair.is_same});
  }
  Print(std::string("cosine by ") + model, scored);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::cerr << "usage: pairs_report SET [URL MODEL]\n";
    return 2;
  }
  const std::vector<SentencePair> pairs = winnow::test::ReadSentencePairs(argv[1]);
  if (pairs.empty()) {
    std::cout << "not run: WINNOW_DATA holds no such pairs\n";
    return 0;
  }
  size_t same = 0;
  for (const SentencePair& pair : pairs) same += pair.is_same ? 1 : 0;
  std::printf("%s: %zu pairs, %zu of them the same\n", argv[1], pairs.size(), same);
  PrintLexical(pairs);
  return argc == 4 ? PrintByModel(pairs, argv[2], argv[3]) : 0;
}
