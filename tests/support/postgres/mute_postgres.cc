#include "tests/support/postgres/mute_postgres.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace winnow::test {
namespace {

using std::string_view_literals::operator""sv;

// AuthenticationOk, what clients want to know of a server, ReadyForQuery.
constexpr std::string_view kLoggedIn =
    "R\0\0\0\x08\0\0\0\0"
    "S\0\0\0\x19"
    "client_encoding\0UTF8\0"
    "S\0\0\0\x18"
    "server_version\0"
    "15.0\0"
    "Z\0\0\0\x05I"sv;

}  // namespace

MutePostgres::MutePostgres() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("no port for a mute PostgreSQL");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

MutePostgres::~MutePostgres() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
}

std::string MutePostgres::url() const {
  return "postgres://somebody@127.0.0.1:" + std::to_string(port_) + "/any?sslmode=disable";
}

void MutePostgres::Serve() {
  std::vector<int> callers;
  for (int caller = 0; (caller = accept(listener_, nullptr, nullptr)) >= 0;) {
    callers.push_back(caller);
    std::array<char, 4096> startup{};
    if (read(caller, startup.data(), startup.size()) <= 0) continue;
    if (write(caller, kLoggedIn.data(), kLoggedIn.size()) > 0) ++logins_;
  }
  for (const int caller : callers) close(caller);
}

}  // namespace winnow::test
