#pragma once

#include "services/dedup/text/fingerprint.h"
#include "services/dedup/text/title_words.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

// The tables that are compiled in (data/*.txt). An error is a defect of the build.
StatusOr<Normalizer> LoadNormalizer();
StatusOr<TextRules> LoadTextRules();
// The words of data/title_words.txt.
StatusOr<TitleWords> LoadTitleWords();

}  // namespace winnow::dedup
