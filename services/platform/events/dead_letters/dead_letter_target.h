#pragma once

#include "services/platform/grpc/peers/target.h"
#include "services/platform/platform.h"

namespace winnow::rpc {

// DeadLetterService over the platform's transport: what every process serves beside its targets.
Target MakeDeadLetterTarget(Platform& platform);

}  // namespace winnow::rpc
