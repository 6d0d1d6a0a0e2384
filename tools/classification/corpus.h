#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Labelled comments as the trainer sees them.
namespace winnow::classification {

struct FeatureValue {
  uint32_t bucket = 0;
  float value = 0;
};

struct Example {
  std::vector<FeatureValue> features;  // by bucket, each once
  bool positive = false;
  uint32_t fold = 0;  // by hash of the normalised text: equal texts never part
};

struct LabelledText {
  std::string text;
  bool positive = false;
};

// Of a text, as the model will see it.
std::vector<FeatureValue> FeaturesOf(const std::string& text);

// Distinct texts, in the order given; of equal normalised texts the first stays.
std::vector<Example> MakeExamples(const std::vector<LabelledText>& texts, uint32_t folds);

// One JSON object a line, gzip. Throws std::runtime_error.
std::vector<std::string> ReadGzipLines(const std::string& path);

// The corpora of shared/data/comments by name of head: "toxic", "hate", "hate_profanity" (only to
// learn from), "profanity", "offensive_en", "spam".
std::vector<LabelledText> ReadCorpus(const std::string& directory, const std::string& head);
// "1 text" or "0 text", UTF-8; lines that begin with # are comments.
std::vector<LabelledText> ReadSuggestions(const std::string& path);

}  // namespace winnow::classification
