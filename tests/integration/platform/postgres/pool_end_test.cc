#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <latch>

#include "services/platform/postgres/pool/listener.h"
#include "services/platform/postgres/pool/pool.h"
#include "services/platform/postgres/session/connection_settings.h"
#include "services/platform/process/fd.h"
#include "services/platform/process/metrics.h"
#include "tests/support/postgres/postgres.h"
#include "tests/support/sync/eventually.h"

// How pools end when their process does. What waits here would do so for many minutes.
namespace winnow::pg {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::steady_clock;

Status Ask(Pool& pool, const std::string& sql) {
  return pool.Statements(steady_clock::now() + minutes(10), [&](Session& session) {
    session.ExecuteText(sql);
    return OkStatus();
  });
}

PoolOptions OptionsOf(const std::string& url) {
  return {.name = "ending", .url = url, .password = "", .connections = 1};
}

// Takes connections into the kernel's queue, and never says a word.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(listen(socket_.get(), 8), 0);
    EXPECT_EQ(getsockname(socket_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  std::string url() const {
    return "postgres://u@127.0.0.1:" + std::to_string(port_) + "/d?connect_timeout=600";
  }
  // Whether somebody has connected and waits for an answer.
  bool HasCaller() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
  }

 private:
  Fd socket_;
  int port_ = 0;
};

TEST(PoolEnd, CutsWhatRunsAndTellsWhoWaits) {
  Metrics metrics;
  Pool pool(OptionsOf(test::Postgres::Instance().NewDatabase()), metrics);
  std::latch runs(1);
  auto statement = std::async(std::launch::async, [&] {
    return pool.Statements(steady_clock::now() + minutes(10), [&](Session& session) {
      runs.count_down();
      session.ExecuteText("SELECT pg_sleep(600)");
      return OkStatus();
    });
  });
  runs.wait();
  auto waiter = std::async(std::launch::async, [&] { return Ask(pool, "SELECT 1"); });
  const std::string waits = R"(winnow_postgres_pool_connections{pool="ending",state="waiting"} 1)";
  EXPECT_TRUE(test::Eventually([&] { return metrics.Render().find(waits) != std::string::npos; }));
  pool.EndBy(steady_clock::now() + minutes(5));
  pool.EndBy(steady_clock::now() + milliseconds(20));
  pool.EndBy(steady_clock::now() + minutes(5));  // the earliest counts
  for (const Status& ended : {statement.get(), waiter.get(), Ask(pool, "SELECT 1")}) {
    EXPECT_EQ(ended.code(), StatusCode::kUnavailable) << ended;
    EXPECT_EQ(ReasonOf(ended), Reason::kShuttingDown) << ended;
  }
}

TEST(PoolEnd, LetsWhatRunsEndBeforeIt) {
  Metrics metrics;
  Pool pool(OptionsOf(test::Postgres::Instance().NewDatabase()), metrics);
  pool.EndBy(steady_clock::now() + minutes(5));
  EXPECT_TRUE(Ask(pool, "SELECT 1").ok());
}

TEST(PoolEnd, WaitsForNoConnectThatGetsNoAnswer) {
  const SilentServer silent;
  Metrics metrics;
  Pool pool(OptionsOf(silent.url()), metrics);
  auto waiter = std::async(std::launch::async, [&] { return Ask(pool, "SELECT 1"); });
  EXPECT_TRUE(test::Eventually([&] { return silent.HasCaller(); }));
  pool.EndBy(steady_clock::now());
  EXPECT_EQ(ReasonOf(waiter.get()), Reason::kShuttingDown);
}

TEST(PoolEnd, WaitsForNoListenerThatGetsNoAnswer) {
  const SilentServer silent;
  const auto settings = ParseUrl(silent.url(), "", "");
  ASSERT_TRUE(settings.ok());
  const Listener listener({.settings = *settings});
  EXPECT_TRUE(test::Eventually([&] { return silent.HasCaller(); }));
}

}  // namespace
}  // namespace winnow::pg
