#pragma once

#include "services/app/remote.h"

namespace CLI {
class App;
}

namespace winnow::app {

// --address, --token-file, --tls, ...
void AddRemoteOptions(CLI::App& command, RemoteOptions& options);

}  // namespace winnow::app
