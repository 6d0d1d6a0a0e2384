#pragma once

#include <ctime>
#include <string>
#include <vector>

namespace winnow::bench {

// This program again with --serve, which prints `ports` ports on its output and serves until its
// input ends: what a call costs a server is then the CPU time of that process alone. Throws
// std::runtime_error when it does not start.
class ChildServer {
 public:
  explicit ChildServer(size_t ports);
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  double CpuMicros() const;
  const std::vector<int>& ports() const { return ports_; }

 private:
  std::vector<int> ports_;
  pid_t pid_ = -1;
  int input_ = -1;
  clockid_t clock_{};
};

// The child's part: prints its ports, and returns when the parent has gone or wants no more.
void ServeUntilInputEnds(const std::vector<int>& ports);

}  // namespace winnow::bench
