#pragma once

#include <string>

#include "services/app/commands/verb.h"

namespace winnow::app {

struct DuplicatesOptions : VerbOptions {
  std::string item_namespace;
  std::string id;  // empty: of the newest articles that were repeated
  int count = 10;
};

// `winnow dedup duplicates`: its ExitCode.
StatusOr<int> RunDuplicates(const DuplicatesOptions& options, const Interrupt& interrupt);

}  // namespace winnow::app
