#include "tests/support/http/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "services/platform/base/url/listen_address.h"

namespace winnow::test {
namespace {

struct Socket {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ~Socket() { close(fd); }
};

}  // namespace

std::string HttpGet(const std::string& address, const std::string& path) {
  const auto parsed = ParseListenAddress(address, "address");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(parsed.ok() ? parsed->port : 0));
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  const Socket connection;
  if (connect(connection.fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("cannot connect to " + address);
  }
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n";
  if (send(connection.fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    throw std::runtime_error("cannot write to " + address);
  }
  std::string answer;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = recv(connection.fd, buffer.data(), buffer.size(), 0)) > 0;) {
    answer.append(buffer.data(), static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace winnow::test
