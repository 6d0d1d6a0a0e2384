#pragma once

#include "services/platform/base/status.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow {

// The rules that config.proto states of the section "collector", defaults filled in.
void CheckCollector(const config::v1::Collector& collector, Violations& violations);

}  // namespace winnow
