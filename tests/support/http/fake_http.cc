#include "tests/support/http/fake_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace winnow::test {
namespace {

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::tolower);
  return text;
}

std::string Decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ec == std::errc();
    if (escaped) i += 2;
    out += escaped ? static_cast<char>(byte) : (text[i] == '+' ? ' ' : text[i]);
  }
  return out;
}

void SplitTarget(FakeRequest& request) {
  const size_t mark = request.target.find('?');
  request.path = request.target.substr(0, mark);
  if (mark == std::string::npos) return;
  std::string_view rest = std::string_view(request.target).substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = std::min(pair.find('='), pair.size());
    request.query[Decode(pair.substr(0, equals))] =
        Decode(pair.substr(std::min(pair.size(), equals + 1)));
  }
}

bool ReadMore(int socket, std::string& buffer) {
  std::array<char, 16 * 1024> bytes;
  const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  buffer.append(bytes.data(), static_cast<size_t>(got));
  return true;
}

FakeRequest ParseHead(const std::string& head) {
  FakeRequest request;
  const size_t line_end = head.find("\r\n");
  const std::string line = head.substr(0, line_end);
  request.method = line.substr(0, line.find(' '));
  request.target = line.substr(request.method.size() + 1);
  request.target.resize(request.target.rfind(' '));
  SplitTarget(request);
  for (size_t at = line_end + 2; at < head.size();) {
    const size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string header = head.substr(at, end - at);
    const size_t colon = header.find(':');
    if (colon != std::string::npos) {
      const size_t value = std::min(header.find_first_not_of(' ', colon + 1), header.size());
      request.headers[LowerCase(header.substr(0, colon))] = header.substr(value);
    }
    at = end + 2;
  }
  return request;
}

}  // namespace

bool FakeReply::Send(int status, std::string_view body, const Headers& headers) {
  keeps_open_ = true;
  std::string head = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n";
  for (const auto& [name, value] : headers) {
    head.append(name).append(": ").append(value).append("\r\n");
  }
  const bool empty = status == 304 || status == 204;
  if (!empty) head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return Write(head + "\r\n" + std::string(empty ? "" : body));
}

void FakeReply::Begin() {
  if (!begun_) --waiting_;
  begun_ = true;
}

bool FakeReply::Write(std::string_view bytes) {
  Begin();
  while (!bytes.empty()) {
    if (stopping_) return false;
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool FakeReply::Pause(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    if (stopping_) return false;
    pollfd gone{socket_, POLLRDHUP, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    const int step = static_cast<int>(std::clamp<int64_t>(left.count(), 1, 100));
    if (poll(&gone, 1, step) > 0) return false;
  }
  return true;
}

FakeHttpServer::FakeHttpServer(FakeScript script, std::string greeting)
    : script_(std::move(script)), greeting_(std::move(greeting)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, generic, size) != 0 || listen(listener_, 128) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("no port for a fake server");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

FakeHttpServer::~FakeHttpServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
}

void FakeHttpServer::Accept() {
  while (!stopping_) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    ++connections_;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void FakeHttpServer::Serve(int socket) {
  std::string buffer;
  std::atomic<size_t> nobody = 1;
  if (!greeting_.empty()) FakeReply(socket, stopping_, nobody).Write(greeting_);
  while (!stopping_ && ServeOne(socket, buffer)) {
  }
  shutdown(socket, SHUT_RDWR);
}

bool FakeHttpServer::ServeOne(int socket, std::string& buffer) {
  size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadMore(socket, buffer)) return false;
  }
  FakeRequest request = ParseHead(buffer.substr(0, end + 2));
  buffer.erase(0, end + 4);
  const auto length = request.headers.find("content-length");
  const size_t body = length == request.headers.end() ? 0 : std::stoul(length->second);
  while (buffer.size() < body) {
    if (!ReadMore(socket, buffer)) return false;
  }
  request.body = buffer.substr(0, body);
  buffer.erase(0, body);
  Remember(request);
  FakeReply reply(socket, stopping_, at_once_);
  script_(request, reply);
  return reply.keeps_open();
}

void FakeHttpServer::Remember(const FakeRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  most_at_once_ = std::max<size_t>(most_at_once_, ++at_once_);
}

std::vector<FakeRequest> FakeHttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

size_t FakeHttpServer::CountOf(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(requests_.begin(), requests_.end(),
                    [&](const FakeRequest& request) { return request.path == path; }));
}

namespace {

// Feeds `bytes` of what `next` answers through zlib.
std::string Deflate(size_t bytes, const std::function<std::string_view(size_t done)>& next) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, 9, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib does not start");
  }
  std::string out;
  std::array<char, 64 * 1024> buffer;
  int result = Z_OK;
  for (size_t done = 0; result != Z_STREAM_END;) {
    const std::string_view piece = done < bytes ? next(done) : std::string_view();
    done += piece.size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = buffer.size();
      result = deflate(&stream, done < bytes ? Z_NO_FLUSH : Z_FINISH);
      out.append(buffer.data(), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string Gzip(std::string_view text) {
  return Deflate(text.size(), [&](size_t done) { return text.substr(done); });
}

std::string GzipBomb(size_t bytes) {
  const std::string zeros(1024 * 1024, '\0');
  return Deflate(bytes, [&](size_t done) {
    return std::string_view(zeros).substr(0, std::min(zeros.size(), bytes - done));
  });
}

}  // namespace winnow::test
