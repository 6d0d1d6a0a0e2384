#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace winnow::test {

struct FakeRequest {
  std::string method;
  std::string target;                          // as it came: path and query
  std::string path;                            // without query
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// What a script does with one request. Every write answers false once the other side is gone or
// the server stops, so that endless scripts end.
class FakeReply {
 public:
  // `waiting` counts it until its first byte is sent: then its client may ask again at once.
  FakeReply(int socket, const std::atomic<bool>& stopping, std::atomic<size_t>& waiting)
      : socket_(socket), stopping_(stopping), waiting_(waiting) {}
  ~FakeReply() { Begin(); }
  FakeReply(const FakeReply&) = delete;
  FakeReply& operator=(const FakeReply&) = delete;

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // A whole answer; the connection stays open.
  bool Send(int status, std::string_view body, const Headers& headers = {});
  // Raw bytes; the connection is closed after the script unless `keep_open` was said.
  bool Write(std::string_view bytes);
  // Passes time; false at once when nobody waits for the answer any more.
  bool Pause(std::chrono::milliseconds time);
  bool keeps_open() const { return keeps_open_; }

 private:
  void Begin();

  int socket_;
  const std::atomic<bool>& stopping_;
  std::atomic<size_t>& waiting_;
  bool begun_ = false;
  bool keeps_open_ = false;
};

using FakeScript = std::function<void(const FakeRequest&, FakeReply&)>;

// A scripted HTTP/1.1 server on 127.0.0.1 and a free port, a thread a connection.
class FakeHttpServer {
 public:
  // `greeting` is said before anybody asks, as no HTTP server does.
  explicit FakeHttpServer(FakeScript script, std::string greeting = "");
  ~FakeHttpServer();
  FakeHttpServer(const FakeHttpServer&) = delete;
  FakeHttpServer& operator=(const FakeHttpServer&) = delete;

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string Url(const std::string& target) const { return "http://" + address() + target; }

  size_t connections() const { return connections_; }
  // Every request so far.
  std::vector<FakeRequest> requests() const;
  size_t CountOf(const std::string& path) const;
  // The most requests that waited for their answers at once.
  size_t most_at_once() const { return most_at_once_; }

 private:
  void Accept();
  void Serve(int socket);
  bool ServeOne(int socket, std::string& buffer);
  void Remember(const FakeRequest& request);

  const FakeScript script_;
  const std::string greeting_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> connections_ = 0;
  std::atomic<size_t> at_once_ = 0;
  std::atomic<size_t> most_at_once_ = 0;
  mutable std::mutex mutex_;
  std::vector<FakeRequest> requests_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// `text` compressed as gzip.
std::string Gzip(std::string_view text);
// `bytes` zeros compressed: a bomb of a thousandth of that size.
std::string GzipBomb(size_t bytes);

}  // namespace winnow::test
