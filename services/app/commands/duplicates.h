#pragma once

#include <string>

#include "services/app/client/remote.h"

namespace winnow::app {

struct DuplicatesOptions {
  RemoteOptions remote;
  std::string item_namespace;
  std::string id;  // empty: of the newest articles that were repeated
  int count = 10;
  bool json = false;
};

// `winnow dedup duplicates`; an ExitCode.
int RunDuplicates(const DuplicatesOptions& options);

}  // namespace winnow::app
