#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "services/platform/redis/client.h"
#include "tests/support/process/temp_dir.h"

namespace winnow::test {

// kCluster: a node of Redis Cluster that has every slot. It refuses commands and scripts whose keys
// are in different slots, or which a script did not declare.
enum class RedisMode { kPlain, kCluster };

// A Redis server of its own, on a Unix socket in a directory of its own, ended with this object
// and when the test is killed. Throws std::runtime_error when it does not start.
class RedisServer {
 public:
  // `password`: empty for none.
  explicit RedisServer(std::string password = "", RedisMode mode = RedisMode::kPlain);
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
  void TakeAllSlots() const;

  TempDir dir_;
  std::string password_;
  const RedisMode mode_;
  pid_t pid_ = -1;
};

// What Redis holds, by key: type, expiry and every byte of the value.
using RedisContent = std::map<std::string, std::string>;
RedisContent ReadAll(redis::Client& client);
// Those of `before` that are not the same in `after`.
std::vector<std::string> ChangedKeys(const RedisContent& before, const RedisContent& after);

// Keys as the published system leaves them: jobs in flight, a feed with its articles, a lock that
// is held, the verdicts and the comments of the video "v".
void PutPublishedKeys(redis::Client& client);

}  // namespace winnow::test
