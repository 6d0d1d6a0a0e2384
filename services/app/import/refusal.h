#pragma once

#include <string>

#include "services/platform/base/status.h"

namespace winnow::app {

// Why a line does not go in.
struct Refusal {
  std::string reason;  // for counting: "not JSON", "not UTF-8", or the name of a field
  std::string detail;  // for people: what is wrong and what to do
};

// The refusal of an item by the server.
Refusal ToRefusal(const Status& error);

}  // namespace winnow::app
