#pragma once

#include <sys/types.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "services/platform/base/status.h"
#include "services/platform/postgres/server/account.h"

namespace winnow::pg {

// A program to run as `account`. The child gets a clean environment, default signal dispositions,
// an empty signal mask, no descriptors but those named here, and SIGINT when the thread that
// spawned it ends, for whatever reason.
struct Command {
  std::vector<std::string> argv;  // argv[0]: the program's absolute path
  Account account;
  int output_fd = -1;        // stdout and stderr; -1: /dev/null
  int keep_fd = -1;          // becomes descriptor 3 of the child, to be inherited further
  bool own_session = false;  // out of reach of the terminal's Ctrl-C
};

// Starts it; the caller must reap it. An error when the program could not be executed. An ignored
// SIGCHLD, as a parent may hand down, is set back to its default: with it no process can learn how
// its children ended.
StatusOr<pid_t> Spawn(const Command& command);

struct Finished {
  int exit_code = 0;   // 128 + signal if a signal ended it
  std::string output;  // the last 4 KiB
};

// Runs it to its end; at the limit it is killed and DEADLINE_EXCEEDED is returned, when `stop`
// comes first CANCELLED. With a session of its own its children are killed with it.
StatusOr<Finished> Run(Command command, std::chrono::seconds limit,
                       const std::stop_token& stop = {});

// Parent side of a child that is to be gone: waits, without any limit, and reaps it.
void Reap(pid_t pid);

// "exit status 1", "signal 9 (Killed)"
std::string DescribeEnd(int wait_status);

}  // namespace winnow::pg
