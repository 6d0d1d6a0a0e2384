#pragma once

#include <sys/types.h>

#include <string>

#include "tests/support/temp_dir.h"

namespace winnow::test {

// A Redis server of its own, on a Unix socket in a directory of its own, ended with this object
// and when the test is killed. Throws std::runtime_error when it does not start.
class RedisServer {
 public:
  // `password`: empty for none.
  explicit RedisServer(std::string password = "");
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::string url() const { return "redis+unix://" + socket(); }
  std::string socket() const { return dir_.path() + "/redis.sock"; }

  void Kill();    // kill -9: what it held is lost
  void Start();   // again, empty; back when it answers
  void Stall();   // it takes connections and answers nothing
  void Resume();  // after Stall

 private:
  bool TakesConnections() const;

  TempDir dir_;
  std::string password_;
  pid_t pid_ = -1;
};

}  // namespace winnow::test
