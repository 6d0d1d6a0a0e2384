#pragma once

#include <string>

#include "services/app/client/interrupt.h"
#include "services/app/client/remote.h"

namespace winnow::app {

struct FeedWatchOptions {
  RemoteOptions remote;
  std::string item_namespace;
  std::string category;
  std::string token;  // to go on from; empty: from now
  int count = 0;      // ends after so many changes; 0: never
  bool json = false;
};

// Prints what happens to a feed, a change a line, until it is interrupted.
int RunFeedWatch(const FeedWatchOptions& options, const Interrupt& interrupt);

}  // namespace winnow::app
