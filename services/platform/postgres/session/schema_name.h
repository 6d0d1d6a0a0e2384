#pragma once

#include <string>

#include "services/platform/base/status.h"

namespace winnow::pg {

// Schemas are named in the source, not by callers; still, they become part of statements: lower
// case, digits and underscores only.
inline Status CheckSchemaName(const std::string& schema) {
  const bool plain =
      !schema.empty() && schema.size() <= 40 &&
      schema.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  return plain ? OkStatus() : Internal("not a schema name: " + schema);
}

}  // namespace winnow::pg
