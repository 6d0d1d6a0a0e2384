#pragma once

#include <functional>

#include "services/app/client/interrupt.h"

namespace CLI {
class App;
}

namespace winnow::app {

// What main runs once the command line is read; answers an ExitCode.
using Command = std::function<int(const Interrupt&)>;

// Each adds a subcommand (or a group of them) that sets `chosen` when it is called for.
void AddServeCommand(CLI::App& app, Command& chosen);
void AddMigrateCommand(CLI::App& app, Command& chosen);
void AddCheckConfigCommand(CLI::App& app, Command& chosen);
void AddImportCommand(CLI::App& app, Command& chosen);
void AddFeedCommands(CLI::App& app, Command& chosen);
void AddDedupCommands(CLI::App& app, Command& chosen);
void AddDedupHistoryCommands(CLI::App& group, Command& chosen);  // of the group "dedup"
void AddClassifyCommands(CLI::App& app, Command& chosen);
void AddJobsCommands(CLI::App& app, Command& chosen);
void AddCollectCommands(CLI::App& app, Command& chosen);
void AddEventsCommands(CLI::App& app, Command& chosen);
void AddCollectSourceCommands(CLI::App& group, Command& chosen);  // of the group "collect"

}  // namespace winnow::app
