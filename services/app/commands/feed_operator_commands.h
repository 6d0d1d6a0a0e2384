#pragma once

#include "services/app/commands/command.h"

namespace winnow::app {

// `winnow feed search`, `stats`, `status` and `refresh`.
void AddFeedOperatorCommands(CLI::App& feed, Command& chosen);

// `winnow feed import-redis`.
void AddFeedImportRedis(CLI::App& feed, Command& chosen);

}  // namespace winnow::app
