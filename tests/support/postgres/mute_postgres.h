#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace winnow::test {

// A server that logs each caller in and then says nothing more: a pooler whose PostgreSQL is away.
class MutePostgres {
 public:
  MutePostgres();
  ~MutePostgres();
  MutePostgres(const MutePostgres&) = delete;
  MutePostgres& operator=(const MutePostgres&) = delete;

  std::string url() const;
  int logins() const { return logins_; }

 private:
  void Serve();

  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> logins_ = 0;
  std::thread thread_;
};

}  // namespace winnow::test
