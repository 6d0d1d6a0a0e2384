#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace winnow::rpc {

struct ConnectionLimits {
  size_t total = 10'000;
  size_t per_address = 5'000;
};

// The connections of a port that belong to gRPC, which closes their descriptors by itself and
// gives no notification. A connection is open as long as its descriptor is the same socket: the
// kernel gives each socket an inode number, so one fstat() shows it. Not thread-safe.
class ConnectionTable {
 public:
  struct Entry {
    int fd = -1;
    ino_t inode = 0;
    std::string owner;  // SocketAddress::Owner()
    std::string peer;   // SocketAddress::ToString()
  };
  enum class Verdict { kRoom, kTotalLimit, kAddressLimit };

  explicit ConnectionTable(ConnectionLimits limits) : limits_(limits) {}

  // Whether one more connection of `owner` may come, by what the last Sweep() knew.
  Verdict Check(const std::string& owner) const;
  // Before the descriptor is given to gRPC.
  void Add(int fd, std::string owner, std::string peer);
  // Forgets the connections that have ended.
  void Sweep();
  // Ends the connection, unless it has ended already; never another descriptor of the same number.
  static void Cut(const Entry& entry);

  const std::vector<Entry>& entries() const { return entries_; }
  const ConnectionLimits& limits() const { return limits_; }

 private:
  const ConnectionLimits limits_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> per_owner_;
};

}  // namespace winnow::rpc
