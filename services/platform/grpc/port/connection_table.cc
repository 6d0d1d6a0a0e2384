#include "services/platform/grpc/port/connection_table.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <utility>

#include "services/platform/process/fd.h"

namespace winnow::rpc {
namespace {

// 0 for what is not an open socket.
ino_t InodeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

}  // namespace

ConnectionTable::Verdict ConnectionTable::Check(const std::string& owner) const {
  if (entries_.size() >= limits_.total) return Verdict::kTotalLimit;
  const auto found = per_owner_.find(owner);
  const size_t count = found == per_owner_.end() ? 0 : found->second;
  return count < limits_.per_address ? Verdict::kRoom : Verdict::kAddressLimit;
}

void ConnectionTable::Add(int fd, std::string owner, std::string peer) {
  ++per_owner_[owner];
  entries_.push_back(
      {.fd = fd, .inode = InodeOf(fd), .owner = std::move(owner), .peer = std::move(peer)});
}

void ConnectionTable::Sweep() {
  std::erase_if(entries_, [this](const Entry& entry) {
    if (InodeOf(entry.fd) == entry.inode) return false;
    const auto found = per_owner_.find(entry.owner);
    if (--found->second == 0) per_owner_.erase(found);
    return true;
  });
}

void ConnectionTable::Cut(const Entry& entry) {
  // The duplicate stays the same socket whatever becomes of the number meanwhile.
  const Fd same(fcntl(entry.fd, F_DUPFD_CLOEXEC, 3));
  if (same.valid() && InodeOf(same.get()) == entry.inode) shutdown(same.get(), SHUT_RDWR);
}

}  // namespace winnow::rpc
