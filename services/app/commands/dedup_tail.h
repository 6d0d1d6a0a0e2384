#pragma once

#include <string>

#include "services/app/client/interrupt.h"
#include "services/app/client/remote.h"

namespace winnow::app {

struct TailOptions {
  RemoteOptions remote;
  std::string item_namespace;
  std::string resume_token;
  int count = 0;  // decisions after which it ends; 0: never
  bool only_duplicates = false;
  bool json = false;
};

// Prints decisions as they are made, until interrupted; goes on by itself after the server was
// away. Answers an ExitCode.
int RunTail(const TailOptions& options, const Interrupt& interrupt);

}  // namespace winnow::app
