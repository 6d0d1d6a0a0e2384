#include "services/platform/grpc/port/frame_guard.h"

#include <dlfcn.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "services/platform/grpc/port/frame_meter.h"
#include "services/platform/process/log.h"

namespace winnow::rpc {
namespace {

using Verdict = FrameMeter::Verdict;

constexpr size_t kVerdicts = static_cast<size_t>(Verdict::kFrames) + 1;
constexpr size_t kMaxDescriptors = 1'048'576;  // descriptor_limit.h

// How often connections were cut, by verdict, since the process began.
std::array<std::atomic<uint64_t>, kVerdicts> g_cut{};

struct Guarded {
  ino_t inode = 0;
  std::string owner;
  FrameMeter meter;
};

// By descriptor. The entry of one that was closed stays until the number is guarded again; its
// inode shows that it is not of the socket that has the number now. gRPC reads a connection from
// one thread at a time, and does not read what it has closed.
struct Table {
  std::array<std::atomic<Guarded*>, kMaxDescriptors> entries{};
};

// Never freed: other threads may read until the process has ended. Untouched pages cost nothing.
Table& Entries() {
  static Table* const kTable = new Table;
  return *kTable;
}
std::atomic<bool> g_guarding = false;

ino_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

// Connections that may be cut of an address before new ones of it are refused, and how soon one
// more may be.
constexpr double kCutBurst = 10;
constexpr double kCutsPerSecond = 0.2;
constexpr size_t kMaxOwners = 10'000;
constexpr std::chrono::seconds kLogInterval{1};

struct Owners {
  std::mutex mutex;
  std::unordered_map<std::string, FrameBudget> cuts;  // of those that had any
  std::chrono::steady_clock::time_point last_log;
};
Owners& TheOwners() {
  static Owners* const kOwners = new Owners;  // never freed, as Entries()
  return *kOwners;
}

void Report(Verdict verdict, const std::string& owner) {
  const uint64_t count = g_cut[static_cast<size_t>(verdict)].fetch_add(1) + 1;
  const auto now = std::chrono::steady_clock::now();
  Owners& owners = TheOwners();
  const std::lock_guard lock(owners.mutex);
  if (!owner.empty()) {
    if (owners.cuts.size() >= kMaxOwners) owners.cuts.clear();
    owners.cuts.try_emplace(owner, kCutBurst, kCutsPerSecond).first->second.Take(now);
  }
  if (now - owners.last_log < kLogInterval) return;
  owners.last_log = now;
  log::Warn("a connection was cut: its client floods the port",
            {{"reason", NameOf(verdict)}, {"address", owner}, {"count", size_t{count}}});
}

Guarded* Find(int fd) {
  if (!g_guarding.load(std::memory_order_relaxed)) return nullptr;
  if (fd < 0 || static_cast<size_t>(fd) >= kMaxDescriptors) return nullptr;
  Guarded* const found = Entries().entries[static_cast<size_t>(fd)].load();
  return found != nullptr && found->inode == InodeOf(fd) ? found : nullptr;
}

// Whether what was received may go on to gRPC.
bool Passes(FrameMeter& meter, std::span<const uint8_t> bytes, const std::string& owner) {
  const Verdict verdict = meter.Feed(bytes, std::chrono::steady_clock::now());
  if (verdict == Verdict::kFine) return true;
  Report(verdict, owner);
  return false;
}

bool Passes(Guarded& guarded, const msghdr& message, size_t count) {
  for (size_t i = 0; i < message.msg_iovlen && count > 0; ++i) {
    const size_t part = std::min(count, message.msg_iov[i].iov_len);
    const auto* bytes = static_cast<const uint8_t*>(message.msg_iov[i].iov_base);
    if (!Passes(guarded.meter, {bytes, part}, guarded.owner)) return false;
    count -= part;
  }
  return true;
}

void FreeMeter(void*, void* meter, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<FrameMeter*>(meter);
}

// Of a server's connection; null for a client's.
FrameMeter* MeterOf(SSL* ssl) {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeMeter);
  if (SSL_is_server(ssl) == 0 || kIndex < 0) return nullptr;
  auto* meter = static_cast<FrameMeter*>(SSL_get_ex_data(ssl, kIndex));
  if (meter != nullptr) return meter;
  auto made = std::make_unique<FrameMeter>();
  if (SSL_set_ex_data(ssl, kIndex, made.get()) != 1) return nullptr;
  return made.release();
}

}  // namespace

void GuardConnection(int fd, std::string owner) {
  if (fd < 0 || static_cast<size_t>(fd) >= kMaxDescriptors) return;
  auto guarded = std::make_unique<Guarded>();
  guarded->inode = InodeOf(fd);
  guarded->owner = std::move(owner);
  const std::unique_ptr<Guarded> before(
      Entries().entries[static_cast<size_t>(fd)].exchange(guarded.release()));
  g_guarding = true;
}

bool MayConnect(const std::string& owner) {
  Owners& owners = TheOwners();
  const std::lock_guard lock(owners.mutex);
  const auto found = owners.cuts.find(owner);
  return found == owners.cuts.end() || !found->second.IsUsedUp(std::chrono::steady_clock::now());
}

std::vector<std::shared_ptr<void>> CountCutConnections(Metrics& metrics) {
  std::vector<std::shared_ptr<void>> gauges;
  for (size_t i = 1; i < kVerdicts; ++i) {
    gauges.push_back(metrics.AddGauge("winnow_connections_cut",
                                      "Connections of the gRPC port that were cut for flooding it, "
                                      "since the process began, by what they sent too much of.",
                                      {{"reason", NameOf(static_cast<Verdict>(i))}},
                                      [i] { return static_cast<double>(g_cut[i].load()); }));
  }
  return gauges;
}

}  // namespace winnow::rpc

// In place of the C library's, for every shared library of the process.
extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t count = syscall(SYS_recvmsg, fd, message, flags);
  if (count <= 0) return count;
  winnow::rpc::Guarded* const guarded = winnow::rpc::Find(fd);
  if (guarded == nullptr || winnow::rpc::Passes(*guarded, *message, static_cast<size_t>(count))) {
    return count;
  }
  errno = ECONNRESET;
  return -1;
}

// In place of OpenSSL's.
extern "C" int SSL_read(SSL* ssl, void* buffer, int size) {
  using Function = int (*)(SSL*, void*, int);
  static const auto kOriginal = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "SSL_read"));
  const int count = kOriginal(ssl, buffer, size);
  if (count <= 0) return count;
  winnow::rpc::FrameMeter* const meter = winnow::rpc::MeterOf(ssl);
  if (meter == nullptr ||
      winnow::rpc::Passes(*meter, {static_cast<const uint8_t*>(buffer), static_cast<size_t>(count)},
                          {})) {
    return count;
  }
  return -1;
}
