#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process/temp_dir.h"

namespace winnow::test {

// The RabbitMQ of this test binary: a real one on free loopback ports in a directory of its own,
// started at its first use and ended with the binary. Everything throws std::runtime_error when it
// fails, which fails the test.
class RabbitMq {
 public:
  static RabbitMq& Instance();

  // amqp:// URL of a new, empty virtual host.
  std::string NewVhostUrl();

  // rabbitmqctl with these arguments; its output.
  std::string Control(const std::vector<std::string>& arguments);

  // kill -9; nothing is answered until Start.
  void Kill();
  // Returns when connections are taken.
  void Start();

  RabbitMq(const RabbitMq&) = delete;
  RabbitMq& operator=(const RabbitMq&) = delete;
  ~RabbitMq();

 private:
  RabbitMq();
  void WriteConfig();
  void Spawn();
  bool TakesConnections();
  std::vector<std::string> Environment() const;

  TempDir dir_;
  int amqp_port_ = 0;
  int dist_port_ = 0;
  int epmd_port_ = 0;
  int vhosts_ = 0;
  pid_t pid_ = -1;
};

}  // namespace winnow::test
