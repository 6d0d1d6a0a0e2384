#pragma once

#include <string>

#include "services/dedup/policy/policy.h"

namespace winnow::dedup {

// A request to change a namespace's rules.
struct PolicyUpdate {
  std::string ns;
  PolicyChange change;
  std::string etag;  // empty: whatever is in force
  std::string actor;
  std::string note;
  std::string request_id;  // not empty
};

}  // namespace winnow::dedup
