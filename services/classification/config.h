#pragma once

#include <memory>

#include "services/classification/llm/llm_classifier.h"
#include "services/platform/process/metrics.h"
#include "winnow/config/v1/config.pb.h"

namespace winnow::classification {

// Reaches the configured server by HTTP, in real time. Errors name the setting.
StatusOr<std::shared_ptr<LlmEnvironment>> MakeLlmWorld(const config::v1::LanguageModel& config,
                                                       Metrics& metrics);

// The port to the configured server; null if there is none. Errors name the setting.
StatusOr<std::unique_ptr<LlmClassifier>> MakeLlmClassifier(const config::v1::LanguageModel& config,
                                                           Metrics& metrics);

}  // namespace winnow::classification
