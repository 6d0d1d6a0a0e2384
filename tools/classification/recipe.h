#pragma once

#include <string>
#include <vector>

#include "services/classification/model/linear_model.h"
#include "tools/classification/corpus.h"
#include "tools/classification/training.h"

// How the embedded model is made: which head learns from what, and what is said of it.
namespace winnow::classification {

struct HeadRecipe {
  std::string name;
  std::vector<std::string> aids;  // heads of other corpora whose scores it may use
  TrainingOptions options;
  bool hold_out = false;  // a fifth (fold 0) is never learned from, and measured alone
};

const std::vector<HeadRecipe>& Recipes();

// What was measured of a head, on examples it had not learned from, with the weights as shipped
// (int8) and thresholds chosen without the fold that is measured.
struct Measured {
  size_t examples = 0;
  size_t positives = 0;
  double macro_f1 = 0;
};

struct TrainedHead {
  Head head;
  Quantized weights;
  Measured measured;
};

// `aids`: trained on their whole corpora.
TrainedHead TrainHead(const HeadRecipe& recipe, const std::vector<Example>& examples,
                      const std::vector<Linear>& aids);

// The model's bytes of heads in their order.
std::string MakeModel(const std::string& version, const std::vector<TrainedHead>& heads);
std::string MakeModelCard(const std::string& version, const std::vector<TrainedHead>& heads,
                          const std::string& model);

}  // namespace winnow::classification
