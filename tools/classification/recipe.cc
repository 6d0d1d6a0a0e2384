#include "tools/classification/recipe.h"

#include <cstdio>
#include <memory>

#include "services/classification/model/linear_model.h"
#include "services/platform/base/hash.h"

namespace winnow::classification {
namespace {

constexpr uint32_t kFolds = 5;

// Scores of examples by models that had not seen them.
struct Unseen {
  std::vector<double> scores;
  std::vector<char> positive;
  std::vector<uint32_t> folds;

  void Add(const Example& example, double score) {
    scores.push_back(score);
    positive.push_back(example.positive);
    folds.push_back(example.fold);
  }
};

// std::vector<bool> has no bools to make a span of.
struct Labels {
  explicit Labels(const std::vector<char>& labels) : bools(new bool[labels.size()]) {
    for (size_t i = 0; i < labels.size(); ++i) bools[i] = labels[i] != 0;
    span = {bools.get(), labels.size()};
  }
  std::unique_ptr<bool[]> bools;
  std::span<const bool> span;
};

Linear Shipped(const Linear& linear) { return Dequantize(Quantize(linear), linear.bias); }

Unseen CrossValidate(const std::vector<const Example*>& examples, const std::vector<Linear>& aids,
                     const TrainingOptions& options) {
  Unseen unseen;
  for (uint32_t fold = 0; fold < kFolds; ++fold) {
    std::vector<const Example*> learned;
    std::vector<const Example*> left;
    for (const Example* e : examples) (e->fold == fold ? left : learned).push_back(e);
    if (left.empty()) continue;
    const Linear linear = Shipped(Train(learned, aids, options));
    for (const Example* e : left) unseen.Add(*e, linear.Score(e->features));
  }
  return unseen;
}

double ThresholdWithout(const Unseen& unseen, uint32_t fold) {
  Unseen others;
  for (size_t i = 0; i < unseen.scores.size(); ++i) {
    if (unseen.folds[i] == fold) continue;
    others.scores.push_back(unseen.scores[i]);
    others.positive.push_back(unseen.positive[i]);
  }
  return BestThreshold(others.scores, Labels(others.positive).span);
}

// Each fold by the threshold of the others; all together.
double NestedF1(const Unseen& unseen) {
  std::vector<double> above(unseen.scores.size());
  for (uint32_t fold = 0; fold < kFolds; ++fold) {
    const double threshold = ThresholdWithout(unseen, fold);
    for (size_t i = 0; i < above.size(); ++i) {
      if (unseen.folds[i] == fold) above[i] = unseen.scores[i] - threshold;
    }
  }
  return MacroF1(above, Labels(unseen.positive).span, 0);
}

size_t CountPositives(const std::vector<char>& labels) {
  size_t count = 0;
  for (const char label : labels) count += label != 0;
  return count;
}

std::string Format(const char* format, auto... values) {
  char line[400];
  const int size = std::snprintf(line, sizeof line, format, values...);
  return {line, static_cast<size_t>(size)};
}

const char* SourceLine(const std::string& head) {
  if (head == "toxic") return "BEEP! (kocohub/korean-hate-speech), train | CC BY-SA 4.0";
  if (head == "hate") return "K-MHaS (adlnlp/K-MHaS), the split named test | CC BY-SA 4.0";
  if (head == "profanity") return "Curse-detection-data (2runo) | MIT";
  if (head == "offensive_en") return "hate-speech-and-offensive-language (t-davidson) | MIT";
  if (head == "spam") return "UCI YouTube Spam Collection | CC BY 4.0";
  return "own set, [suggestions.txt](suggestions.txt) | Apache-2.0";
}

}  // namespace

const std::vector<HeadRecipe>& Recipes() {
  static const std::vector<HeadRecipe> recipes = {
      {"toxic", {"hate", "profanity", "hate_profanity"}, {.cost = 0.3, .other = 0.3}},
      {"hate", {}, {.cost = 0.3}},
      {"profanity", {"hate_profanity", "hate", "toxic"}, {.cost = 0.5, .other = 0.3}},
      {"offensive_en", {}, {.cost = 0.3}},
      {"spam", {}, {.cost = 1, .smoothing = 0.3}},
      {"suggestion", {}, {.cost = 1, .smoothing = 0.3}, true},
  };
  return recipes;
}

TrainedHead TrainHead(const HeadRecipe& recipe, const std::vector<Example>& examples,
                      const std::vector<Linear>& aids) {
  std::vector<const Example*> learned;
  std::vector<const Example*> held_out;
  for (const Example& e : examples) {
    (recipe.hold_out && e.fold == 0 ? held_out : learned).push_back(&e);
  }
  const Unseen unseen = CrossValidate(learned, aids, recipe.options);
  const Labels labels(unseen.positive);
  const Platt platt = Calibrate(unseen.scores, labels.span);
  const double threshold = BestThreshold(unseen.scores, labels.span);
  const Linear linear = Train(learned, aids, recipe.options);

  TrainedHead trained;
  trained.weights = Quantize(linear);
  trained.head = {recipe.name, trained.weights.scale, linear.bias,
                  platt.slope, platt.offset,          Probability(platt, threshold)};
  if (recipe.hold_out) {
    Unseen last;
    const Linear shipped = Shipped(linear);
    for (const Example* e : held_out) last.Add(*e, shipped.Score(e->features));
    trained.measured = {last.scores.size(), CountPositives(last.positive),
                        MacroF1(last.scores, Labels(last.positive).span, threshold)};
  } else {
    trained.measured = {unseen.scores.size(), CountPositives(unseen.positive), NestedF1(unseen)};
  }
  return trained;
}

std::string MakeModel(const std::string& version, const std::vector<TrainedHead>& heads) {
  std::vector<Head> described;
  for (const TrainedHead& trained : heads) described.push_back(trained.head);
  std::vector<int8_t> weights(kBuckets * heads.size());
  for (size_t h = 0; h < heads.size(); ++h) {
    for (size_t i = 0; i < kBuckets; ++i) {
      weights[i * heads.size() + h] = heads[h].weights.weights[i];
    }
  }
  return LinearModel::Serialize(version, described, weights);
}

std::string MakeModelCard(const std::string& version, const std::vector<TrainedHead>& heads,
                          const std::string& model) {
  std::string card = "# Model card: " + version + "\n\n";
  card +=
      "Linear heads over hashed n-grams (1 to 5 characters, 1 to 2 words, 2^20 buckets), int8\n"
      "weights, Platt-calibrated; made by `tools/classification/train_model.cc`, which also wrote\n"
      "this card. The same data give the same bytes. Rebuild it with\n\n"
      "    cmake --build build/release --target train_comment_model\n"
      "    build/release/bin/train_comment_model ../shared/data/comments "
      "services/classification/model/data\n\n";
  card += Format("`comments.bin`: %zu bytes, XXH3 %016llx.\n\n", model.size(),
                 static_cast<unsigned long long>(Hash64(model)));
  card +=
      "| head | examples | positive | macro-F1 | threshold | measured "
      "|\n|---|---|---|---|---|---|\n";
  for (const TrainedHead& one : heads) {
    card += Format("| `%s` | %zu | %.1f %% | %.3f | %.3f | %s |\n", one.head.name.c_str(),
                   one.measured.examples,
                   100.0 * double(one.measured.positives) / double(one.measured.examples),
                   one.measured.macro_f1, one.head.threshold,
                   one.head.name == "suggestion" ? "on the fifth that was held out"
                                                 : "5-fold cross-validation");
  }
  card +=
      "\nFolds go by hash of the normalised text, equal texts are one example, weights are the\n"
      "quantised ones, and each fold is judged by the threshold of the others. A threshold is the\n"
      "probability with the best macro-F1; policy `default@1` decides by it.\n\n"
      "## Data\n| head | learned from | licence |\n|---|---|---|\n";
  for (const TrainedHead& one : heads) {
    card += "| `" + one.head.name + "` | " + SourceLine(one.head.name) + " |\n";
  }
  card +=
      "\n`toxic` and `profanity` also use what heads of the other Korean corpora learned. "
      "Attribution\n"
      "as CC BY and CC BY-SA ask: BEEP! by J. Moon, W. I. Cho and J. Lee; K-MHaS by J. Lee and\n"
      "others; YouTube Spam Collection by T. C. Alberto and J. V. Lochter. Weights that learned\n"
      "from CC BY-SA corpora (`toxic`, `hate`, `profanity`) are shared under CC BY-SA 4.0. No "
      "text\n"
      "of any corpus is in the tree.\n\n"
      "## Limits\n"
      "- Each head is a labelling policy of its corpus, not a truth: K-MHaS calls political "
      "insult\n"
      "  hate, BEEP! was written under entertainment news, Davidson's are tweets, mostly of one\n"
      "  dialect, in which in-group words count as offensive. Expect bias against dialects.\n"
      "- `toxic`, `hate` and `profanity` know Korean only, `offensive_en` and `spam` English "
      "only.\n"
      "- It reads n-grams, not meaning: irony, quotation and context escape it.\n"
      "- `suggestion`: own examples of one author ([guideline](suggestions.md)); its figure says\n"
      "  nothing of a real channel's comments.\n"
      "- It assists people. Do not let it alone decide sanctions.\n";
  return card;
}

}  // namespace winnow::classification
