#pragma once

#include <string>

#include "services/newsfeed/labels/category_rules.h"
#include "services/platform/base/status.h"

namespace winnow::newsfeed {

// The rules that come with Winnow (data/category_rules.json).
const CategoryRules& DefaultCategoryRules();

// Those of a file; of an empty path the default ones. INVALID_ARGUMENT with all violations.
StatusOr<CategoryRules> LoadCategoryRules(const std::string& path);

}  // namespace winnow::newsfeed
