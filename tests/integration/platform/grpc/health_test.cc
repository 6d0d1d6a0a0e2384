#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "services/platform/grpc/server/metrics_http.h"
#include "services/platform/process/log.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/grpc/health_client.h"
#include "tests/support/http/http_get.h"
#include "tests/support/sync/eventually.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

rpc::Probe FailingWhile(const std::atomic<bool>& away, const std::string& name, bool vital) {
  return {name,
          [&away, name]() -> Status {
            if (!away) return OkStatus();
            return Unavailable(Reason::kStoreUnavailable, name + " \"refuses\"", milliseconds(1));
          },
          vital};
}

EchoOptions Watching(std::vector<rpc::Probe> probes) {
  EchoOptions options;
  options.server.probe_interval = milliseconds(10);
  options.probes = std::move(probes);
  return options;
}

// How often `part` occurs in `text`.
size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HealthLog, HasOneLineForEachChangeOfAProbeThatIsNotVital) {
  std::atomic<bool> away = false;
  std::atomic<int> rounds = 0;
  const rpc::Probe counting = {"clock", [&rounds]() -> Status {
                                 ++rounds;
                                 return OkStatus();
                               }};
  ::testing::internal::CaptureStderr();
  {
    EchoServer server(Watching({FailingWhile(away, "cache", false), counting}));
    const auto up = [&] {
      return server.Sample("winnow_dependency_up{probe=\"cache\",target=\"echo\"}");
    };
    for (const bool now : {true, false}) {
      away = now;
      EXPECT_TRUE(Eventually([&] { return up() == (now ? 0 : 1); }));
      const int before = rounds;  // further rounds, in which nothing changes, log nothing
      EXPECT_TRUE(Eventually([&] { return rounds > before + 2; }));
      EXPECT_EQ(CheckHealth(server.NewTcpChannel(), kEchoServiceName), Serving::kYes);
    }
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(CountOf(log, "\"dependency is unavailable\""), 1) << log;
  EXPECT_EQ(CountOf(log, "\"dependency is available again\""), 1) << log;
  EXPECT_THAT(log, AllOf(HasSubstr("\"probe\":\"cache\""), HasSubstr("\"vital\":false"),
                         HasSubstr(R"(cache \"refuses\")")));
}

TEST(HealthPage, ShowsEachProbeWithItsError) {
  std::atomic<bool> store_away = false;
  std::atomic<bool> cache_away = true;
  EchoServer server(Watching(
      {FailingWhile(store_away, "store", true), FailingWhile(cache_away, "cache", false)}));
  const auto http = rpc::MetricsHttp::Start("127.0.0.1:0", false, server.metrics());
  ASSERT_TRUE(http.ok()) << Message(http.status());
  const auto page = [&] { return HttpGet((*http)->address(), "/health"); };
  EXPECT_THAT(page(), HasSubstr("503 Service Unavailable"));  // it does not know the server yet
  (*http)->ServeHealth([&] { return server.server().HealthJson(); });
  EXPECT_THAT(page(),
              AllOf(HasSubstr("200 OK"), HasSubstr("application/json"),
                    HasSubstr(R"({"services":[{"service":")" + std::string(kEchoServiceName) +
                              R"(","serving":true,"probes":[)"
                              R"({"name":"store","ok":true,"vital":true,"error":""},)"
                              R"({"name":"cache","ok":false,"vital":false,)"
                              R"("error":"cache \"refuses\""}]},)"
                              R"({"service":"","serving":true,"probes":[)"
                              R"({"name":"port","ok":true,"vital":false,"error":""}]}]})")));
  store_away = true;
  EXPECT_TRUE(Eventually([&] { return page().find("\"serving\":false") != std::string::npos; }));
  EXPECT_THAT(HttpGet((*http)->address(), "/healthy"), HasSubstr("404"));
}

TEST(HealthPage, DoesNotShowWhatAnExceptionSays) {
  EchoOptions options;
  options.probes = {{"store", []() -> Status { throw std::runtime_error("driver text"); }}};
  EchoServer server(std::move(options));
  EXPECT_THAT(server.server().HealthJson(),
              AllOf(HasSubstr("internal error: the log has its text"), Not(HasSubstr("driver"))));
}

}  // namespace
}  // namespace winnow::test
