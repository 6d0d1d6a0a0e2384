#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/process/fd.h"

namespace winnow::test {

// A port of 127.0.0.1 that hands on to another one, and can fall silent as a peer does that has
// vanished: nothing is read any more, and nothing is closed.
class TcpProxy {
 public:
  // To `port` of 127.0.0.1; 0: silent from the start.
  explicit TcpProxy(int port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const { return port_; }
  // Connections that were taken so far.
  int taken() const { return taken_; }
  // The connections of now fall silent for good; those that come later are handed on.
  void Mute();

 private:
  struct Pair {
    Fd caller;
    Fd peer;
    bool is_mute = false;
  };
  void Serve();
  void Take();
  void Forward();

  const int to_;
  int port_ = 0;
  Fd listener_;
  std::atomic<int> taken_ = 0;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace winnow::test
