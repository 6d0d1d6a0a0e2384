#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "services/classification/llm/chat_answer.h"
#include "services/platform/base/clock.h"
#include "services/platform/base/function_ref.h"

namespace winnow::classification {

// The network, time, randomness and metrics of a language model's client. Thread-safe.
class LlmEnvironment {
 public:
  virtual ~LlmEnvironment() = default;
  // POSTs a request; gives up once `stop` returns true.
  virtual WireReply Post(const std::string& body, FunctionRef<bool()> stop) = 0;
  virtual Deadline Now() { return std::chrono::steady_clock::now(); }
  // Returns at `until`, or earlier once `stop` returns true.
  virtual void Wait(Deadline until, FunctionRef<bool()> stop) = 0;
  virtual uint64_t Random() = 0;
  // A call ended; kNone: it succeeded.
  virtual void CountCall(Failure) {}
  virtual void SetCircuitOpen(bool) {}
};

}  // namespace winnow::classification
