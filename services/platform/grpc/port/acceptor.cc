#include "services/platform/grpc/port/acceptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "services/platform/grpc/port/frame_guard.h"
#include "services/platform/grpc/port/socket_address.h"
#include "services/platform/process/log.h"

namespace winnow::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kAcceptsPerRound = 64;
constexpr milliseconds kTick{1'000};          // of the gauge
constexpr milliseconds kSweepInterval{5};     // at most as often while a limit is reached
constexpr milliseconds kLogInterval{60'000};  // of refusals that go on
constexpr milliseconds kMinPause{10};
constexpr milliseconds kMaxPause{500};

// Not moved above the standard streams, which would take a second descriptor.
Fd OpenReserve() { return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool IsExhaustion(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Of the listening socket itself: the next accept4() fails in the same way.
bool IsBroken(int error) {
  return error == EINVAL || error == EBADF || error == ENOTSOCK || error == EOPNOTSUPP;
}

}  // namespace

Acceptor::Acceptor(ListenSockets listening, ConnectionLimits limits, bool plain_text,
                   Metrics& metrics)
    : plain_text_(plain_text),
      listening_(std::move(listening)),
      wake_(Fd::AboveStandardStreams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      reserve_(OpenReserve()),
      table_(limits),
      accepted_(metrics.GetCounter("winnow_connections_accepted_total",
                                   "Connections of the gRPC port that were accepted.")),
      open_(metrics.GetGauge("winnow_connections_open", "Open connections of the gRPC port.")) {
  for (const char* reason : {"total_limit", "address_limit", "descriptors", "flooding"}) {
    refused_.push_back({.reason = reason,
                        .counter = &metrics.GetCounter(
                            "winnow_connections_refused_total",
                            "Connections of the gRPC port that were closed at once, by reason.",
                            {{"reason", reason}})});
  }
  metrics.GetGauge("winnow_connections_limit", "Connections that the gRPC port may have at a time.")
      .Set(static_cast<double>(limits.total));
}

void Acceptor::Start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Stop() {
  stop_.request_stop();
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
  listening_.sockets.clear();
}

void Acceptor::CutAll() {
  reserve_.Close();  // Cut() needs one descriptor
  for (const ConnectionTable::Entry& entry : table_.entries()) ConnectionTable::Cut(entry);
}

void Acceptor::ExpectOwn(std::optional<std::string> source) {
  const std::lock_guard lock(own_mutex_);
  own_ = std::move(source);
}

bool Acceptor::TakeOwn(const std::string& peer) {
  const std::lock_guard lock(own_mutex_);
  if (own_ != peer) return false;
  own_.reset();
  return true;
}

void Acceptor::Run() {
  while (Await(pause_ == milliseconds(0) ? kTick : pause_)) {
    Round round = Round::kDone;
    for (const Fd& listener : listening_.sockets) {
      round = std::max(round, AcceptAll(listener.get()));
    }
    BackOff(round);
    if (!reserve_.valid()) reserve_ = OpenReserve();
    if (steady_clock::now() - last_sweep_ >= kTick) SweepNow();
    LogRefused();
  }
}

// Until a connection waits or the time is over; after a failure only the time counts, for the
// connections that wait would end every pause at once. False: Stop() was called.
bool Acceptor::Await(milliseconds pause) {
  std::vector<pollfd> waited = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
  if (pause_ == milliseconds(0)) {
    for (const Fd& listener : listening_.sockets) {
      waited.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
    }
  }
  poll(waited.data(), waited.size(), static_cast<int>(pause.count()));
  return !stop_.stop_requested();
}

void Acceptor::BackOff(Round round) {
  exhausted_ = round == Round::kShortOfDescriptors;
  if (round != Round::kDone) {
    pause_ = std::clamp(pause_ * 2, kMinPause, kMaxPause);
  } else if (pause_ != milliseconds(0)) {
    pause_ = milliseconds(0);
    log::Info("connections are accepted again");
  }
}

Acceptor::Round Acceptor::AcceptAll(int listener) {
  Round round = Round::kDone;
  for (int i = 0; i < kAcceptsPerRound && !stop_.stop_requested(); ++i) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    Fd connection(accept4(listener, reinterpret_cast<sockaddr*>(&storage), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      const SocketAddress peer(reinterpret_cast<const sockaddr*>(&storage), size);
      Admit(std::move(connection), peer.Owner(), peer.ToString());
    } else if (IsExhaustion(errno)) {
      if (!ShedOne(listener)) break;
      round = Round::kShortOfDescriptors;
    } else if (errno == EAGAIN) {
      break;
    } else if (IsBroken(errno)) {
      if (pause_ == milliseconds(0)) {
        log::Error("the gRPC port cannot accept connections", {{"error", std::strerror(errno)}});
      }
      return Round::kBroken;
    }  // else: the peer has given up (ECONNABORTED), or its network had an error
  }
  return round;
}

void Acceptor::Admit(Fd connection, const std::string& owner, const std::string& peer) {
  const bool own = TakeOwn(peer);
  if (!own) {
    if (!MayConnect(owner)) return Refuse(Refusal::kFlooding);
    auto verdict = table_.Check(owner);
    if (verdict != ConnectionTable::Verdict::kRoom &&
        steady_clock::now() - last_sweep_ >= kSweepInterval) {
      SweepNow();
      verdict = table_.Check(owner);
    }
    if (verdict == ConnectionTable::Verdict::kTotalLimit) return Refuse(Refusal::kTotalLimit);
    if (verdict == ConnectionTable::Verdict::kAddressLimit) return Refuse(Refusal::kAddressLimit);
    accepted_.Increment();
    table_.Add(connection.get(), owner, peer);
    if (plain_text_) GuardConnection(connection.get(), owner);
    open_count_ = table_.entries().size();
    open_.Set(static_cast<double>(table_.entries().size()));
  }
  hand_over_(connection.Release(), own);
}

void Acceptor::Refuse(Refusal refusal) {
  Refused& refused = refused_[static_cast<size_t>(refusal)];
  refused.counter->Increment();
  ++refused.since_logged;
}

// There is not a descriptor for the next connection: with the reserved one it is accepted and
// closed, so that its client knows, and does not wait in the queue for its own timeout. False: none
// waits, which accept4() does not look for before it has a descriptor.
bool Acceptor::ShedOne(int listener) {
  reserve_.Close();
  bool waits = true;
  {
    const Fd shed(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (shed.valid()) Refuse(Refusal::kDescriptors);
    waits = shed.valid() || errno != EAGAIN;
  }
  reserve_ = OpenReserve();
  return waits;
}

void Acceptor::SweepNow() {
  table_.Sweep();
  last_sweep_ = steady_clock::now();
  open_count_ = table_.entries().size();
  open_.Set(static_cast<double>(table_.entries().size()));
}

// At once, then once a minute as long as it goes on.
void Acceptor::LogRefused() {
  const auto now = steady_clock::now();
  if (last_log_ != steady_clock::time_point() && now - last_log_ < kLogInterval) return;
  for (Refused& refused : refused_) {
    if (refused.since_logged == 0) continue;
    last_log_ = now;
    log::Warn("connections were refused", {{"reason", refused.reason},
                                           {"count", refused.since_logged},
                                           {"open", table_.entries().size()},
                                           {"limit", table_.limits().total},
                                           {"limit_per_address", table_.limits().per_address}});
    refused.since_logged = 0;
  }
}

}  // namespace winnow::rpc
