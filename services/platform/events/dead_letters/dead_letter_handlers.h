#pragma once

#include "services/platform/events/core/dead_letters.h"
#include "services/platform/grpc/call/call_context.h"
#include "services/platform/grpc/call/handler.h"
#include "services/platform/process/metrics.h"
#include "winnow/events/v1/dead_letter_service.pb.h"

namespace winnow::events {

// One method per RPC of DeadLetterService; its proto says what each does.
class DeadLetterHandlers {
 public:
  // Both outlive this.
  DeadLetterHandlers(DeadLetters& dead_letters, Metrics& metrics);

  WINNOW_HANDLER(ListDeadLetters);
  WINNOW_HANDLER(ReplayDeadLetters);
  WINNOW_HANDLER(PurgeDeadLetters);

 private:
  DeadLetters& dead_letters_;
  Counter& replayed_;
  Counter& purged_;
};

}  // namespace winnow::events
