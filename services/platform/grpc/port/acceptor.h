#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "services/platform/grpc/port/connection_table.h"
#include "services/platform/grpc/port/listen_sockets.h"
#include "services/platform/process/fd.h"
#include "services/platform/process/metrics.h"

namespace winnow::rpc {

// The accept loop of a port (docs/adr/0016). gRPC 1.51's own ends for good once accept() fails for
// want of descriptors; this one refuses connections then, and goes on when there are some again.
class Acceptor {
 public:
  // Takes over the connected, non-blocking descriptor. `own`: the self-check's, below.
  using HandOver = std::function<void(int fd, bool own)>;

  // The listening sockets are bound; accepting begins with Start().
  // `plain_text`: connections are guarded (frame_guard.h) by what they receive; over TLS that is
  // done where it is decrypted.
  Acceptor(ListenSockets listening, ConnectionLimits limits, bool plain_text, Metrics& metrics);
  ~Acceptor() { Stop(); }

  void Start(HandOver hand_over);
  // Closes the port. Connections that were accepted go on.
  void Stop();
  // Ends every connection that was accepted. After Stop().
  void CutAll();

  int port() const { return listening_.port; }

  // Whether the last connection was refused for want of descriptors.
  bool exhausted() const { return exhausted_; }

  // The source of the connection that the process itself is about to make, if any: it is admitted
  // beyond every limit and handed over as `own`.
  void ExpectOwn(std::optional<std::string> source);

 private:
  // How accepting all that waited went, by severity.
  enum class Round { kDone, kShortOfDescriptors, kBroken };
  enum class Refusal { kTotalLimit, kAddressLimit, kDescriptors, kFlooding };
  struct Refused {
    const char* reason = "";
    Counter* counter = nullptr;
    size_t since_logged = 0;
  };
  void Run();
  bool Await(std::chrono::milliseconds pause);
  Round AcceptAll(int listener);
  void BackOff(Round round);
  void Admit(Fd connection, const std::string& owner, const std::string& peer);
  void Refuse(Refusal refusal);
  bool ShedOne(int listener);
  void SweepNow();
  void LogRefused();
  bool TakeOwn(const std::string& peer);

  const bool plain_text_;
  ListenSockets listening_;
  const Fd wake_;  // an eventfd
  Fd reserve_;     // given up to accept, and close, what there is no descriptor for
  ConnectionTable table_;
  std::vector<Refused> refused_;  // by Refusal
  Counter& accepted_;
  Gauge& open_;
  std::atomic<size_t> open_count_ = 0;
  HandOver hand_over_;
  std::mutex own_mutex_;
  std::optional<std::string> own_;  // guarded by own_mutex_
  std::stop_source stop_;
  std::atomic<bool> exhausted_ = false;
  std::chrono::milliseconds pause_{0};
  std::chrono::steady_clock::time_point last_sweep_;
  std::chrono::steady_clock::time_point last_log_;
  std::thread thread_;
};

}  // namespace winnow::rpc
