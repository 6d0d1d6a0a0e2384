#pragma once

namespace winnow::app {

// How a command ended, for scripts. README.md of this folder and `winnow --help` list them.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,         // what was asked for could not be done; standard error says why
  kUsage = 2,          // a wrong call or configuration: nothing was begun
  kUnreachable = 3,    // the server, or what it needs, cannot be reached
  kPartlyRefused = 4,  // an import that went through, with entries that were refused
  kPortDead = 5,       // a server whose gRPC port did not answer any more; start it again
  kInterrupted = 130,  // ended by Ctrl-C, as shells count it
  kReaderGone = 141,   // who read standard output has closed it (`| head`), as shells count it
};

}  // namespace winnow::app
