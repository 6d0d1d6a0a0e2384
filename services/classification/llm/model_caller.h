#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/classification/llm/call_gate.h"
#include "services/classification/llm/chat_answer.h"
#include "services/classification/llm/labels.h"
#include "services/classification/llm/llm_environment.h"
#include "services/classification/policy/classifier.h"

namespace winnow::classification {

// A model and what it costs.
struct ChatModel {
  std::string name{};
  int64_t input_price_micros = 0;   // of a million tokens
  int64_t output_price_micros = 0;  // of a million tokens
  int max_output_tokens = 4096;
};

// What a model said of some texts.
struct Asked {
  Failure failure = Failure::kNone;  // of all texts together
  std::vector<int> labels{};         // by text: index of the label, -1: missing
  Failure pause = Failure::kNone;    // the run cannot go on
  bool stopped = false;
  // Of the last call, to be delivered with what follows from it.
  int64_t calls = 0;
  int64_t cost_micros = 0;
  int64_t reservation = 0;
  // While it lives, the budget may yet hold what is reserved for this call.
  std::shared_ptr<void> hold{};
};

// Asks one model: the only loop that repeats a call. Two canaries go with the texts, cost is
// reserved before each call and settled after it. Thread-safe.
class ModelCaller {
 public:
  static constexpr int kAttempts = 4;

  ModelCaller(ChatModel model, LlmEnvironment& world, std::chrono::milliseconds patience)
      : model_(std::move(model)), world_(world), patience_(patience) {}

  StatusOr<Asked> Ask(const Task& task, std::span<const Label> labels,
                      std::span<const std::string_view> texts);

  // At most; also of a reply that says nothing of it.
  int64_t MostCost(const std::string& body) const;
  int64_t CostOf(const Usage& usage) const;

 private:
  struct Reply {
    ChatAnswer answer;
    std::chrono::milliseconds retry_after{0};
  };
  // One call. The cost is added to `asked`; what canaries say to the answer's failure.
  StatusOr<Reply> CallOnce(const Task& task, std::span<const Label> labels,
                           std::span<const std::string_view> texts, Asked& asked);
  // Whether the model answers at all. Its cost is delivered.
  StatusOr<bool> Probe(const Task& task, std::span<const Label> labels, bool holds_probe,
                       Asked& asked);
  // A reservation, or 0. What others hold in reserve is waited for: most of it comes back.
  StatusOr<int64_t> Reserve(const Task& task, int64_t micros, Asked& asked);
  // Waits for the gate; false: stopped or out of patience, as `asked` says.
  bool AwaitTurn(const Task& task, Asked& asked, bool& probe);
  void Failed(const Reply& reply, bool probe);
  Status Settle(const Task& task, Asked& asked);

  const ChatModel model_;
  LlmEnvironment& world_;
  const std::chrono::milliseconds patience_;
  CallGate gate_;
  std::mutex reserve_mutex_;
  int holders_ = 0;  // calls that are not settled
};

}  // namespace winnow::classification
