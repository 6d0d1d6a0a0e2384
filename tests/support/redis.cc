#include "tests/support/redis.h"

#include <signal.h>
#include <unistd.h>

#include <stdexcept>

#include "services/platform/postgres/server/process.h"
#include "services/platform/redis/connection.h"
#include "tests/support/eventually.h"

namespace winnow::test {

RedisServer::RedisServer(std::string password) : dir_("redis"), password_(std::move(password)) {
  Start();
}

RedisServer::~RedisServer() { Kill(); }

void RedisServer::Start() {
  pg::Command command;
  command.argv = {"/usr/bin/redis-server",
                  "--port",
                  "0",
                  "--unixsocket",
                  socket(),
                  "--dir",
                  dir_.path(),
                  "--save",
                  "",
                  "--appendonly",
                  "no",
                  "--loglevel",
                  "warning"};
  if (!password_.empty()) command.argv.insert(command.argv.end(), {"--requirepass", password_});
  const auto pid = pg::Spawn(command);
  if (!pid.ok()) throw std::runtime_error("redis-server: " + Message(pid.status()));
  pid_ = *pid;
  if (!Eventually([this] { return TakesConnections(); })) {
    throw std::runtime_error("redis-server takes no connections");
  }
}

bool RedisServer::TakesConnections() const {
  redis::Address address;
  address.socket = socket();
  address.password = password_;
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  return redis::Connection::Open(address, deadline).ok();
}

void RedisServer::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  pg::Reap(pid_);
  pid_ = -1;
  ::unlink(socket().c_str());  // the next one's clients must not meet it
}

void RedisServer::Stall() { ::kill(pid_, SIGSTOP); }

void RedisServer::Resume() { ::kill(pid_, SIGCONT); }

}  // namespace winnow::test
