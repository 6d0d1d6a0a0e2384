#pragma once

#include "services/dedup/fingerprint.h"
#include "services/platform/status.h"

namespace winnow::dedup {

// The tables that are compiled in (data/*.txt). An error is a defect of the build.
StatusOr<Normalizer> LoadNormalizer();
StatusOr<TextRules> LoadTextRules();

}  // namespace winnow::dedup
