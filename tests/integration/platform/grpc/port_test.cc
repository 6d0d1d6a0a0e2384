#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "services/platform/grpc/port/listen_sockets.h"
#include "services/platform/grpc/port/self_check.h"
#include "services/platform/process/fd.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

Fd NewSocket() { return Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

// To 127.0.0.1:`port`, from `from`.
bool Connect(const Fd& socket, int port, const char* from = "127.0.0.1") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, from, &address.sin_addr);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return false;
  }
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Whether the server closes the connection; it may send something before.
bool IsClosed(const Fd& socket) {
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) continue;
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  }
}

bool BecomesClosed(const Fd& socket) {
  return Eventually([&] { return IsClosed(socket); });
}

grpc::Status SayAnew(const EchoServer& server) {
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  echo::SayResponse response;
  return stub->Say(ContextOf().get(), {}, &response);
}

double Refused(const EchoServer& server, const std::string& reason) {
  return server.Sample("winnow_connections_refused_total{reason=\"" + reason + "\"}");
}

int HighestDescriptor() {
  int highest = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    highest = std::max(highest, std::stoi(entry.path().filename().string()));
  }
  return highest;
}

// As long as it lives, the process can open no more descriptors.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int highest = HighestDescriptor();
    for (int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0 && fd < highest;
         fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      holes_.emplace_back(fd);
    }
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(HighestDescriptor()) + 1;
    setrlimit(RLIMIT_NOFILE, &none);
    while (true) {
      Fd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd.valid()) break;
      holes_.push_back(std::move(fd));
    }
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Fd> holes_;
};

TEST(Port, RefusesOnlyNewConnectionsWhileThereAreNoDescriptors) {
  EchoServer server;
  const auto existing = echo::EchoService::NewStub(server.NewTcpChannel());
  echo::SayResponse response;
  ASSERT_TRUE(existing->Say(ContextOf().get(), {}, &response).ok());
  std::vector<Fd> sockets;
  for (int i = 0; i < 100; ++i) sockets.push_back(NewSocket());
  {
    const NoDescriptors none;
    for (const Fd& socket : sockets) {
      ASSERT_TRUE(Connect(socket, server.server().port()));
    }
    for (const Fd& socket : sockets) EXPECT_TRUE(BecomesClosed(socket));
    EXPECT_GE(Refused(server, "descriptors"), 100);
    EXPECT_TRUE(existing->Say(ContextOf().get(), {}, &response).ok());
  }
  const grpc::Status status = SayAnew(server);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(Port, HasALimitOfConnectionsAndOneForEachAddress) {
  EchoOptions options;
  options.server.connections = {.total = 5, .per_address = 3};
  EchoServer server(std::move(options));
  const int port = server.server().port();
  EXPECT_EQ(server.Sample("winnow_connections_limit"), 5);
  std::vector<Fd> held;
  const auto connect = [&](const char* from) -> const Fd& {
    held.push_back(NewSocket());
    EXPECT_TRUE(Connect(held.back(), port, from));
    return held.back();
  };
  held.reserve(10);
  for (int i = 0; i < 3; ++i) connect("127.0.0.1");
  EXPECT_TRUE(BecomesClosed(connect("127.0.0.1")));
  EXPECT_EQ(Refused(server, "address_limit"), 1);
  for (int i = 0; i < 2; ++i) connect("127.0.0.2");
  EXPECT_TRUE(BecomesClosed(connect("127.0.0.3")));
  EXPECT_EQ(Refused(server, "total_limit"), 1);
  EXPECT_EQ(server.Sample("winnow_connections_accepted_total"), 5);
  EXPECT_EQ(server.Sample("winnow_connections_open"), 5);
  for (const int kept : {0, 1, 2, 4, 5}) EXPECT_FALSE(IsClosed(held[static_cast<size_t>(kept)]));
  held.clear();
  const grpc::Status status = SayAnew(server);  // retries until there is room again
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(Eventually([&] { return server.Sample("winnow_connections_open") <= 1; }));
}

TEST(Port, ClosesAConnectionThatSendsNothing) {
  EchoOptions options;
  options.server.handshake_timeout = milliseconds(50);
  EchoServer server(std::move(options));
  const Fd silent = NewSocket();
  ASSERT_TRUE(Connect(silent, server.server().port()));
  EXPECT_TRUE(BecomesClosed(silent));
}

TEST(Port, ListensOnBothFamiliesOfAWildcardAddress) {
  const auto listening = rpc::OpenListenSockets({.host = "0.0.0.0", .port = 0}, 20'000);
  ASSERT_FALSE(listening.sockets.empty());
  EXPECT_GT(listening.port, 0);
  EXPECT_TRUE(Connect(NewSocket(), listening.port));
  EXPECT_EQ(rpc::SelfCheck::AddressOf(listening).ToString(),
            "127.0.0.1:" + std::to_string(listening.port));
}

TEST(Port, ListensAtEveryAddressOfAName) {
  const auto listening = rpc::OpenListenSockets({.host = "localhost", .port = 0}, 20'000);
  ASSERT_FALSE(listening.sockets.empty());
  for (const Fd& socket : listening.sockets) {
    EXPECT_EQ(rpc::SocketAddress::OfSocket(socket.get()).port(), listening.port);
  }
}

rpc::SelfCheckOptions Often() {
  return {.interval = milliseconds(5),
          .timeout = milliseconds(20'000),
          .dead_after_failures = 3,
          .dead_after = milliseconds(0)};
}

// Three checks later.
bool IsCheckedOn(const EchoServer& server, const std::atomic<bool>& dead) {
  const auto failures = [&] { return server.Sample("winnow_port_check_failures_total"); };
  const double before = server.Sample("winnow_port_checks_total");
  return Eventually([&] { return server.Sample("winnow_port_checks_total") >= before + 3; }) &&
         failures() == 0 && server.Sample("winnow_port_check_up") == 1 && !dead;
}

TEST(SelfCheck, ReachesTheProcessBeyondItsLimits) {
  EchoOptions options;
  options.server.connections = {.total = 1, .per_address = 1};
  options.server.self_check = Often();
  EchoServer server(std::move(options));
  const Fd holder = NewSocket();
  ASSERT_TRUE(Connect(holder, server.server().port()));
  std::atomic<bool> dead = false;
  server.server().StartSelfCheck([&] { dead = true; });
  EXPECT_TRUE(IsCheckedOn(server, dead));
  EXPECT_FALSE(IsClosed(holder));
  EXPECT_EQ(server.Sample("winnow_connections_open"), 1);
}

TEST(SelfCheck, NeedsNoCertificateAndOthersGetNoPlainText) {
  EchoOptions options;
  options.server.self_check = Often();
  auto* tls = options.config.mutable_tls();
  tls->set_cert_file("tests/support/certs/server.pem");
  tls->set_key_file("tests/support/certs/server.key");
  tls->set_client_ca_file("tests/support/certs/ca.pem");
  options.runtime.client_certificates = true;
  EchoServer server(std::move(options));
  std::atomic<bool> dead = false;
  server.server().StartSelfCheck([&] { dead = true; });
  EXPECT_TRUE(IsCheckedOn(server, dead));
  const auto plain = echo::EchoService::NewStub(server.NewTcpChannel());
  const auto context = ContextOf();
  context->set_wait_for_ready(false);
  echo::SayResponse response;
  EXPECT_EQ(plain->Say(context.get(), {}, &response).error_code(), grpc::UNAVAILABLE);
}

TEST(SelfCheck, FindsAPortThatAcceptsAndDoesNotAnswer) {
  Metrics metrics;
  auto listening = rpc::OpenListenSockets({.host = "127.0.0.1", .port = 0}, 20'000);
  const rpc::SocketAddress address = rpc::SelfCheck::AddressOf(listening);
  rpc::Acceptor acceptor(std::move(listening), {}, true, metrics);
  std::vector<Fd> held;  // of the accept loop's thread until it is stopped
  acceptor.Start([&held](int fd, bool) { held.emplace_back(fd); });
  std::atomic<int> dead = 0;
  {
    rpc::SelfCheckOptions options = Often();
    options.timeout = milliseconds(20);
    rpc::SelfCheck check(acceptor, address, options, metrics);
    EXPECT_TRUE(check.Last().ok());
    check.Start([&] { ++dead; });
    EXPECT_TRUE(Eventually([&] { return dead == 1; }));
    EXPECT_THAT(Message(check.Last()), HasSubstr("the gRPC port does not answer"));
    EXPECT_THAT(metrics.Render(), HasSubstr("winnow_port_check_up 0"));
  }
  EXPECT_EQ(dead, 1);
  acceptor.Stop();
}

TEST(SelfCheck, ShortageOfDescriptorsIsNoDeadPort) {
  EchoOptions options;
  options.server.self_check = Often();
  EchoServer server(std::move(options));
  std::atomic<bool> dead = false;
  {
    const NoDescriptors none;
    server.server().StartSelfCheck([&] { dead = true; });
    EXPECT_TRUE(Eventually([&] { return server.Sample("winnow_port_check_up") == 0; }));
    const double before = server.Sample("winnow_port_checks_total");
    EXPECT_TRUE(
        Eventually([&] { return server.Sample("winnow_port_checks_total") >= before + 5; }));
  }
  EXPECT_TRUE(Eventually([&] { return server.Sample("winnow_port_check_up") == 1; }));
  EXPECT_FALSE(dead);
}

}  // namespace
}  // namespace winnow::test
