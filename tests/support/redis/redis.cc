#include "tests/support/redis/redis.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "services/platform/postgres/server/process.h"
#include "services/platform/redis/connection.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(30); }

// Of the cluster bus, which nobody connects to.
int FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

redis::Reply Do(redis::Client& client, redis::Command command) {
  auto reply = client.Run(Soon(), std::move(command));
  if (!reply.ok()) throw std::runtime_error("redis: " + Message(reply.status()));
  return *std::move(reply);
}

}  // namespace

RedisServer::RedisServer(std::string password, RedisMode mode)
    : dir_("redis"), password_(std::move(password)), mode_(mode) {
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
  if (mode_ == RedisMode::kCluster) {
    command.argv.insert(command.argv.end(), {"--cluster-enabled", "yes", "--bind", "127.0.0.1",
                                             "--cluster-port", std::to_string(FreePort())});
    ::unlink((dir_.path() + "/nodes.conf").c_str());
  }
  const auto pid = pg::Spawn(command);
  if (!pid.ok()) throw std::runtime_error("redis-server: " + Message(pid.status()));
  pid_ = *pid;
  if (!Eventually([this] { return TakesConnections(); })) {
    throw std::runtime_error("redis-server takes no connections");
  }
  if (mode_ == RedisMode::kCluster) TakeAllSlots();
}

void RedisServer::TakeAllSlots() const {
  redis::Address address;
  address.socket = socket();
  const auto connection = redis::Connection::Open(address, Soon());
  if (!connection.ok()) throw std::runtime_error("redis-server: " + Message(connection.status()));
  const redis::Command take[] = {{"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}};
  const redis::Command write[] = {{"SET", "a key", "1"}, {"DEL", "a key"}};
  const auto works = [&](std::span<const redis::Command> commands) {
    const auto replies = (*connection)->Run(commands, Soon());
    return replies.ok() && replies->front().ToStatus().ok();
  };
  if (!works(take) || !Eventually([&] { return works(write); })) {
    throw std::runtime_error("redis-server: the cluster does not come up");
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

RedisContent ReadAll(redis::Client& client) {
  RedisContent content;
  const std::vector<std::string> keys = *Do(client, {"KEYS", "*"}).Texts();
  for (const std::string& key : keys) {
    content[key] = std::to_string(*Do(client, {"PEXPIRETIME", key}).Integer()) + " " +
                   Do(client, {"DUMP", key}).MaybeText()->value_or("");
  }
  return content;
}

std::vector<std::string> ChangedKeys(const RedisContent& before, const RedisContent& after) {
  std::vector<std::string> changed;
  for (const auto& [key, value] : before) {
    const auto now = after.find(key);
    if (now == after.end() || now->second != value) changed.push_back(key);
  }
  return changed;
}

void PutPublishedKeys(redis::Client& client) {
  const redis::Command commands[] = {
      {"ZADD", "stt:polling:processing", "1738234567890", "101", "1738234600000", "102"},
      {"ZADD", "stt:polling:summarizing", "1738234650000", "103"},
      {"ZADD", "news:feed:ai", "1737100800000", "naver_1", "1737100700000", "naver_2"},
      {"EXPIRE", "news:feed:ai", "3600"},
      {"HSET", "news:article:naver_1", "id", "naver_1", "title", "An article", "url",
       "https://news.example/1"},
      {"EXPIRE", "news:article:naver_1", "86400"},
      {"HSET", "news:meta:ai", "last_refresh", "2026-01-17T10:00:00Z", "article_count", "2",
       "is_stale", "false"},
      {"EXPIRE", "news:meta:ai", "3600"},
      {"SET", "news:lock:environment", "1", "EX", "30"},
      {"HSET", "video:v:classification", "c0", R"({"status":"normal"})", "_metadata",
       R"({"updated_at":"2026-01-17","model":"gpt-5-mini"})"},
      {"SET", "youtube:video:v:comments", "[]"}};
  for (const redis::Command& command : commands) Do(client, command);
}

}  // namespace winnow::test
