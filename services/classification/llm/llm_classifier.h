#pragma once

#include <memory>
#include <optional>
#include <string>

#include "services/classification/llm/model_caller.h"
#include "services/classification/llm/packing.h"
#include "services/classification/policy/classifier.h"

namespace winnow::classification {

enum class Fallback { kEmbedded, kModel, kNone };

struct LlmOptions {
  ChatModel model{};
  // Judges what the model refuses, cuts or spoils even when it is asked about one comment alone.
  Fallback fallback = Fallback::kEmbedded;
  ChatModel fallback_model{};
  size_t items = 16;            // comments a call
  size_t prompt_tokens = 6000;  // of a call's comments, about
  size_t concurrency = 4;       // calls at a time
  // For how long a model that answers nothing is waited for, before the run pauses.
  std::chrono::milliseconds patience = std::chrono::minutes(10);
};

// Judges by a language model behind an OpenAI-compatible server: batches of ordinals under a strict
// schema, halved where they fail, until a comment is alone; then the fallback. Every comment gets
// one outcome, or the run pauses.
class LlmClassifier final : public Classifier {
 public:
  LlmClassifier(LlmOptions options, std::shared_ptr<LlmEnvironment> world);

  size_t batch_size() const override;
  std::string CacheName(const Decider& decider) const override;
  StatusOr<Failure> Judge(const Task& task) override;

  // "NAME+prompt-1": what verdicts name.
  std::string model() const;

 private:
  class Round;

  const LlmOptions options_;
  const std::shared_ptr<LlmEnvironment> world_;
  ModelCaller primary_;
  std::optional<ModelCaller> second_;
};

}  // namespace winnow::classification
