#include "services/platform/grpc/server/metrics_http.h"

#include <CivetServer.h>
#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "services/platform/base/url/listen_address.h"
#include "services/platform/grpc/port/bind_error.h"

namespace winnow::rpc {
namespace {

constexpr std::chrono::milliseconds kWakeInterval{10};

// Connects and hangs up.
void Touch(const ListenAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) !=
      0) {
    return;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    // Non-blocking: it is under way, or refused because the port is closed, which is as good.
    [[maybe_unused]] const int result = connect(fd, found->ai_addr, found->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(found);
}

// The library's server looks up from waiting for a connection every 2 s only. Gives it some.
class Waker {
 public:
  explicit Waker(const ListenAddress& address) : thread_([this, address] { Run(address); }) {}
  ~Waker() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

 private:
  void Run(const ListenAddress& address) {
    std::unique_lock lock(mutex_);
    while (!done_) {
      Touch(address);
      changed_.wait_for(lock, kWakeInterval);
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

// Answers with `body`; whatever the client does meanwhile is its own matter.
bool Answer(mg_connection* connection, const char* status, const char* type,
            const std::string& body) {
  mg_printf(connection,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\n\r\n",
            status, type, body.size());
  mg_write(connection, body.data(), body.size());
  return true;
}

class MetricsPage : public CivetHandler {
 public:
  explicit MetricsPage(std::shared_ptr<prometheus::Collectable> source)
      : source_(std::move(source)) {}
  bool handleGet(CivetServer*, mg_connection* connection) override {
    return Answer(connection, "200 OK", "text/plain; version=0.0.4; charset=utf-8",
                  prometheus::TextSerializer().Serialize(source_->Collect()));
  }

 private:
  const std::shared_ptr<prometheus::Collectable> source_;
};

class HealthPage : public CivetHandler {
 public:
  void Set(std::function<std::string()> page) {
    const std::lock_guard lock(mutex_);
    page_ = std::move(page);
  }
  bool handleGet(CivetServer*, mg_connection* connection) override {
    std::string json = "{\"services\":[]}\n";
    bool known = false;
    {
      const std::lock_guard lock(mutex_);
      known = page_ != nullptr;
      if (known) json = page_();
    }
    return Answer(connection, known ? "200 OK" : "503 Service Unavailable", "application/json",
                  json);
  }

 private:
  std::mutex mutex_;
  std::function<std::string()> page_;
};

}  // namespace

struct MetricsHttp::State {
  State(const std::vector<std::string>& settings, std::shared_ptr<prometheus::Collectable> source)
      : metrics(std::move(source)), server(settings) {
    server.addHandler("/metrics$", metrics);
    server.addHandler("/health$", health);
  }

  MetricsPage metrics;
  HealthPage health;
  CivetServer server;  // last: it calls the pages
};

void MetricsHttp::ServeHealth(std::function<std::string()> page) {
  state_->health.Set(std::move(page));
}

MetricsHttp::MetricsHttp() = default;
MetricsHttp::~MetricsHttp() {
  const auto address = ParseListenAddress(address_, "metrics.listen");
  std::optional<Waker> waker;
  if (state_ && address.ok()) waker.emplace(*address);
  state_.reset();
}

StatusOr<std::unique_ptr<MetricsHttp>> MetricsHttp::Start(const std::string& listen, bool insecure,
                                                          const Metrics& metrics) {
  std::unique_ptr<MetricsHttp> http;
  if (listen == "off") return http;
  WINNOW_ASSIGN_OR_RETURN(ListenAddress address, ParseListenAddress(listen, "metrics.listen"));
  if (!address.IsLoopback() && !insecure) {
    return InvalidField("metrics.listen", "\"" + listen +
                                              "\" is reachable from other machines, in plain text: "
                                              "listen on 127.0.0.1, or say metrics.insecure");
  }
  http.reset(new MetricsHttp);
  try {
    http->state_ = std::make_unique<State>(
        std::vector<std::string>{"listening_ports", address.ToString(), "num_threads", "8",
                                 "request_timeout_ms", "3000"},
        metrics.Source());
    address.port = http->state_->server.getListeningPorts().at(0);
  } catch (const std::exception&) {  // only says that it failed
    return InvalidField("metrics.listen", BindError(address, "--metrics"));
  }
  http->address_ = address.ToString();
  return http;
}

}  // namespace winnow::rpc
