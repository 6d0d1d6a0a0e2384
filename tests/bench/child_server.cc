#include "tests/bench/child_server.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <stdexcept>

extern char** environ;

namespace winnow::bench {

ChildServer::ChildServer(size_t ports) : ports_(ports) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (pipe(in.data()) != 0 || pipe(out.data()) != 0) throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addclose(&actions, in[1]);
  std::string name = "bench";
  std::string mode = "--serve";
  std::array<char*, 3> arguments = {name.data(), mode.data(), nullptr};
  if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start the server");
  }
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  FILE* answers = fdopen(out[0], "r");
  for (int& port : ports_) {
    if (std::fscanf(answers, "%d", &port) != 1)
      throw std::runtime_error("the server did not start");
  }
  std::fclose(answers);
  if (clock_getcpuclockid(pid_, &clock_) != 0) throw std::runtime_error("no CPU clock");
}

ChildServer::~ChildServer() {
  close(input_);
  waitpid(pid_, nullptr, 0);
}

double ChildServer::CpuMicros() const {
  timespec now{};
  clock_gettime(clock_, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

void ServeUntilInputEnds(const std::vector<int>& ports) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int port : ports) std::cout << port << " ";
  std::cout << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) continue;
}

}  // namespace winnow::bench
