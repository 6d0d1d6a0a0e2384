#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "services/platform/grpc/errors/error_exit.h"
#include "services/platform/grpc/server/metrics_http.h"
#include "tests/support/grpc/echo_server.h"
#include "tests/support/grpc/health_client.h"
#include "tests/support/http/http_get.h"
#include "tests/support/process/temp_dir.h"
#include "tests/support/sync/eventually.h"
#include "tests/support/sync/gate.h"

namespace winnow::test {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

grpc::Status Say(echo::EchoService::Stub& stub, echo::SayResponse& response,
                 const std::string& authorization = "", bool wait = true) {
  const auto context = ContextOf();
  context->set_wait_for_ready(wait);
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
  return stub.Say(context.get(), {}, &response);
}

Status StartError(const config::v1::Config& config) {
  Metrics metrics;
  rpc::Runtime runtime({}, metrics);
  const auto server = rpc::Server::Start(config, runtime, metrics, {});
  EXPECT_FALSE(server.ok());
  return server.status();
}

TEST(Server, TellsThePortThatItChose) {
  EchoServer server;
  EXPECT_GT(server.server().port(), 0);
  EXPECT_EQ(server.server().address(), "127.0.0.1:" + std::to_string(server.server().port()));
}

TEST(Server, SaysThatAPortIsInUseAndWhatToDo) {
  EchoServer first;
  config::v1::Config config;
  config.set_listen(first.server().address());
  const Status status = StartError(config);
  EXPECT_EQ(ViolationsOf(status).at(0).field, "listen");
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr(first.server().address()), HasSubstr("another process listens there"),
                    HasSubstr("--listen")));
}

TEST(Server, IsCheckedBeforeItStarts) {
  EchoServer first;
  config::v1::Config config;
  config.set_listen(first.server().address());
  EXPECT_THAT(Message(rpc::Server::Check(config)), HasSubstr("another process listens there"));
  config.set_listen("127.0.0.1:0");
  EXPECT_TRUE(rpc::Server::Check(config).ok()) << Message(rpc::Server::Check(config));
  config.mutable_peers()->set_ca_file("/nowhere/ca.pem");
  EXPECT_EQ(ViolationsOf(rpc::Server::Check(config)).at(0).field, "peers.ca_file");
}

TEST(Server, SaysThatAnAddressIsNotThisMachines) {
  config::v1::Config config;
  config.set_listen("203.0.113.7:0");  // of documentation, nobody's
  config.set_insecure(true);
  EXPECT_THAT(Message(StartError(config)), HasSubstr("does not have that address"));
}

TEST(Server, ListensBeyondLoopbackOnlyWhenTold) {
  config::v1::Config config;
  config.set_listen("0.0.0.0:0");
  EXPECT_THAT(Message(StartError(config)), AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--insecure")));
  EchoOptions options;
  options.config.set_listen("0.0.0.0:0");
  options.config.set_insecure(true);
  EchoServer server(std::move(options));
  echo::SayResponse response;
  EXPECT_TRUE(Say(server.stub(), response).ok());
}

TEST(Server, RefusesAMessageBeyondItsLimitAndTakesABigOne) {
  EchoServer server;
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  echo::SayRequest request;
  request.set_text(std::string(size_t{20} << 20, 'x'));
  echo::SayResponse response;
  // The answer is beyond the *caller's* default limit, which it hears of; the server took it.
  EXPECT_EQ(stub->Say(ContextOf().get(), request, &response).error_code(),
            grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.Sample("winnow_rpc_requests_total{code=\"OK\","
                          "method=\"winnow.test.v1.EchoService/Say\"}"),
            1);
  request.set_text(std::string(size_t{90} << 20, 'x'));
  EXPECT_EQ(stub->Say(ContextOf().get(), request, &response).error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

TEST(Server, DescribesItselfByReflectionAndChannelz) {
  EchoServer server;
  EXPECT_THAT(
      ListServices(server.NewTcpChannel()),
      ::testing::IsSupersetOf({std::string(kEchoServiceName), std::string("grpc.health.v1.Health"),
                               std::string("grpc.channelz.v1.Channelz"),
                               std::string("grpc.reflection.v1alpha.ServerReflection")}));
  EXPECT_THAT(DescriptionOf(server.NewTcpChannel(), "grpc.health.v1.Health"),
              HasSubstr("grpc/health/v1/health.proto"));
}

TEST(Auth, NeedsTheTokenWhereOneIsSet) {
  EchoOptions options;
  options.runtime.bearer_token = "0123456789abcdef";
  EchoServer server(std::move(options));
  const auto stub = echo::EchoService::NewStub(server.NewTcpChannel());
  echo::SayResponse response;
  for (const char* header : {"", "Bearer wrong", "Basic 0123456789abcdef"}) {
    const grpc::Status refused = Say(*stub, response, header);
    EXPECT_EQ(refused.error_code(), grpc::UNAUTHENTICATED);
    EXPECT_THAT(refused.error_details(), HasSubstr("UNAUTHENTICATED"));
  }
  ASSERT_TRUE(Say(*stub, response, "Bearer 0123456789abcdef").ok());
  EXPECT_EQ(response.caller(), "bearer");
  EXPECT_EQ(CheckHealth(server.NewTcpChannel(), ""), Serving::kYes);  // health needs none
}

TEST(Auth, KnowsAPeerOfTheSameProcess) {
  EchoOptions options;
  options.runtime.bearer_token = "0123456789abcdef";
  EchoServer server(std::move(options));
  const rpc::Peer peer(server.in_process(), server.runtime().auth().in_process_header());
  const auto context = std::make_unique<grpc::ClientContext>();
  rpc::CallContext call = rpc::BackgroundCall(std::chrono::seconds(60));
  peer.Prepare(*context, call);
  echo::SayResponse response;
  ASSERT_TRUE(server.stub().Say(context.get(), {}, &response).ok());
  EXPECT_EQ(response.caller(), "inprocess");
  EXPECT_EQ(response.request_id(), call.request_id);
  EXPECT_EQ(response.trace_id(), call.trace.trace_id);
}

class Tls : public ::testing::Test {
 protected:
  static std::string Path(const std::string& name) { return "tests/support/certs/" + name; }
  static EchoOptions Options() {
    EchoOptions options;
    auto* tls = options.config.mutable_tls();
    tls->set_cert_file(Path("server.pem"));
    tls->set_key_file(Path("server.key"));
    return options;
  }
  // A channel with credentials made as for a peer that is configured with these files.
  static std::unique_ptr<echo::EchoService::Stub> Stub(const std::string& address,
                                                       const std::string& name) {
    config::v1::Config config;
    config.mutable_tls()->set_client_ca_file(Path("ca.pem"));
    config.mutable_tls()->set_cert_file(Path(name + ".pem"));
    config.mutable_tls()->set_key_file(Path(name + ".key"));
    config.mutable_peers()->set_dedup(address);
    Metrics metrics;
    const rpc::Runtime runtime({}, metrics);
    const auto peers = rpc::Peers::Make(config, runtime, {}, nullptr);
    EXPECT_TRUE(peers.ok());
    return echo::EchoService::NewStub((*peers)->Find("dedup")->channel());
  }
};

TEST_F(Tls, EncryptsAndRefusesPlainText) {
  EchoServer server(Options());
  echo::SayResponse response;
  const grpc::Status status = Say(*Stub(server.server().address(), "client"), response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.caller(), "anonymous");
  const auto plain = echo::EchoService::NewStub(server.NewTcpChannel());
  EXPECT_EQ(Say(*plain, response, "", false).error_code(), grpc::UNAVAILABLE);
}

TEST_F(Tls, KnowsCallersByTheirCertificates) {
  EchoOptions options = Options();
  options.config.mutable_tls()->set_client_ca_file(Path("ca.pem"));
  options.runtime.client_certificates = true;
  EchoServer server(std::move(options));
  echo::SayResponse response;
  ASSERT_TRUE(Say(*Stub(server.server().address(), "client"), response).ok());
  EXPECT_EQ(response.caller(), "mtls:CN=winnow-test-client");
  grpc::SslCredentialsOptions without;
  std::ifstream in(Path("ca.pem"));
  without.pem_root_certs.assign(std::istreambuf_iterator<char>(in), {});
  const auto nobody = echo::EchoService::NewStub(
      grpc::CreateChannel(server.server().address(), grpc::SslCredentials(without)));
  EXPECT_EQ(Say(*nobody, response, "", false).error_code(), grpc::UNAVAILABLE);
}

// The server asks for no certificates, and its own is of an authority that no system knows.
TEST_F(Tls, APeerIsTrustedByAnAuthorityOfItsOwn) {
  EchoServer server(Options());
  const auto say = [&](const config::v1::Config& config) {
    Metrics metrics;
    const rpc::Runtime runtime({}, metrics);
    const auto peers = rpc::Peers::Make(config, runtime, {}, nullptr);
    EXPECT_TRUE(peers.ok()) << Message(peers.status());
    const auto stub = echo::EchoService::NewStub((*peers)->Find("dedup")->channel());
    echo::SayResponse response;
    return Say(*stub, response, "", false).error_code();
  };
  config::v1::Config config;
  config.mutable_peers()->set_dedup(server.server().address());
  EXPECT_EQ(say(config), grpc::UNAVAILABLE);  // in plain text
  config.mutable_peers()->set_ca_file(Path("ca.pem"));
  EXPECT_EQ(say(config), grpc::OK);
  *config.mutable_tls() = Options().config.tls();  // as where all serve over TLS
  EXPECT_EQ(say(config), grpc::OK);
  config.mutable_peers()->clear_ca_file();
  EXPECT_EQ(say(config), grpc::UNAVAILABLE);
}

TEST_F(Tls, NamesTheFileOfPeersAuthorities) {
  Metrics metrics;
  const rpc::Runtime runtime({}, metrics);
  config::v1::Config config;
  config.mutable_peers()->set_ca_file(Path("README.md"));
  const auto peers = rpc::Peers::Make(config, runtime, {}, nullptr);
  ASSERT_FALSE(peers.ok());
  EXPECT_EQ(ViolationsOf(peers.status()).at(0).field, "peers.ca_file");
}

TEST_F(Tls, MayListenBeyondLoopback) {
  EchoOptions options = Options();
  options.config.set_listen("0.0.0.0:0");
  EchoServer server(std::move(options));
  EXPECT_GT(server.server().port(), 0);
}

TEST_F(Tls, NamesTheFileThatIsMissingOrNoPem) {
  config::v1::Config config;
  config.set_listen("127.0.0.1:0");
  config.mutable_tls()->set_cert_file(Path("server.pem"));
  EXPECT_EQ(ViolationsOf(StartError(config)).at(0).field, "tls.key_file");
  config.mutable_tls()->set_key_file("/nowhere/server.key");
  EXPECT_THAT(Message(StartError(config)), HasSubstr("cannot read /nowhere/server.key"));
  config.mutable_tls()->set_key_file(Path("README.md"));
  EXPECT_THAT(Message(StartError(config)), HasSubstr("contains no PEM block"));
}

TEST_F(Tls, SaysThatKeyAndCertificateDoNotBelongTogether) {
  config::v1::Config config;
  config.set_listen("127.0.0.1:0");
  config.mutable_tls()->set_cert_file(Path("server.pem"));
  config.mutable_tls()->set_key_file(Path("client.key"));
  const Status mixed = StartError(config);
  EXPECT_EQ(ViolationsOf(mixed).at(0).field, "tls.key_file");
  EXPECT_THAT(Message(mixed), HasSubstr("client.key is not the key of the certificate in"));
  EXPECT_THAT(Message(mixed), HasSubstr("server.pem"));
}

TEST_F(Tls, SaysWhichFileHoldsWhatCannotBeRead) {
  const TempDir folder("tls");
  const auto write = [&](const std::string& name, const std::string& kind) {
    std::string path = folder.path() + "/" + name;
    std::ofstream(path) << "-----BEGIN " << kind << "-----\nAAAA\n-----END " << kind << "-----\n";
    return path;
  };
  const auto field = [](const std::string& cert, const std::string& key, const std::string& ca) {
    config::v1::Config config;
    config.set_listen("127.0.0.1:0");
    config.mutable_tls()->set_cert_file(cert);
    config.mutable_tls()->set_key_file(key);
    config.mutable_tls()->set_client_ca_file(ca);
    return ViolationsOf(StartError(config)).at(0).field;
  };
  const std::string bad = write("bad.pem", "CERTIFICATE");
  EXPECT_EQ(field(bad, Path("server.key"), ""), "tls.cert_file");
  EXPECT_EQ(field(Path("server.pem"), write("bad.key", "PRIVATE KEY"), ""), "tls.key_file");
  EXPECT_EQ(field(Path("server.pem"), Path("server.key"), bad), "tls.client_ca_file");
}

TEST(Health, FollowsTheDependencies) {
  std::atomic<bool> away = false;
  EchoOptions options;
  options.server.probe_interval = milliseconds(10);
  options.probes = {{"store", [&away]() -> Status {
                       if (!away) return OkStatus();
                       return Unavailable(Reason::kStoreUnavailable, "away", milliseconds(1));
                     }}};
  EchoServer server(std::move(options));
  const auto channel = server.NewTcpChannel();
  EXPECT_EQ(CheckHealth(channel, kEchoServiceName), Serving::kYes);
  away = true;
  EXPECT_TRUE(Eventually([&] { return CheckHealth(channel, kEchoServiceName) == Serving::kNo; }));
  EXPECT_EQ(CheckHealth(channel, ""), Serving::kYes);  // alive all the same
  EXPECT_EQ(server.Sample("winnow_dependency_up{probe=\"store\",target=\"echo\"}"), 0);
  away = false;
  EXPECT_TRUE(Eventually([&] { return CheckHealth(channel, kEchoServiceName) == Serving::kYes; }));
  EXPECT_EQ(CheckHealth(channel, "no.such.Service"), Serving::kUnknown);
}

TEST(Health, SaysServingBeforeTheProcessSaysThatItIsReady) {
  std::atomic<int> asked = 0;
  EchoOptions options;
  options.server.probe_interval = std::chrono::hours(1);
  options.probes = {{"store", [&asked]() -> Status {
                       if (++asked > 5) return OkStatus();
                       return Unavailable(Reason::kStoreUnavailable, "away", milliseconds(1));
                     }}};
  EchoServer server(std::move(options));
  const auto channel = server.NewTcpChannel();
  EXPECT_FALSE(server.server().AwaitServing(std::chrono::steady_clock::now()));
  EXPECT_EQ(CheckHealth(channel, kEchoServiceName), Serving::kNo);
  EXPECT_TRUE(
      server.server().AwaitServing(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  EXPECT_EQ(CheckHealth(channel, kEchoServiceName), Serving::kYes);
}

TEST(Health, TakesAProbeThatThrowsForNo) {
  EchoOptions options;
  options.probes = {{"store", []() -> Status { throw std::runtime_error("x"); }}};
  EchoServer server(std::move(options));
  EXPECT_EQ(CheckHealth(server.NewTcpChannel(), kEchoServiceName), Serving::kNo);
}

TEST(Peers, NamesTheSettingThatIsMissing) {
  Metrics metrics;
  const rpc::Runtime runtime({}, metrics);
  const auto peers = rpc::Peers::Make({}, runtime, {}, nullptr);
  ASSERT_TRUE(peers.ok());
  const auto peer = (*peers)->Find("collector");
  ASSERT_FALSE(peer.ok());
  EXPECT_EQ(ViolationsOf(peer.status()).at(0).field, "peers.collector");
}

TEST(Peers, AreCalledPastAProxyOfTheEnvironment) {
  EchoServer server;
  setenv("grpc_proxy", "http://127.0.0.1:1", 1);  // where nothing answers
  const char* exempt = getenv("no_proxy");
  const std::string kept = exempt == nullptr ? "" : exempt;
  unsetenv("no_proxy");
  unsetenv("no_grpc_proxy");
  config::v1::Config config;
  config.mutable_peers()->set_dedup(server.server().address());
  Metrics metrics;
  const rpc::Runtime runtime({}, metrics);
  const auto peers = rpc::Peers::Make(config, runtime, {}, nullptr);
  ASSERT_TRUE(peers.ok());
  const auto stub = echo::EchoService::NewStub((*peers)->Find("dedup")->channel());
  echo::SayResponse response;
  const grpc::Status status = Say(*stub, response, "", false);
  unsetenv("grpc_proxy");
  setenv("no_proxy", kept.c_str(), 1);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(MetricsPort, ShowsWhatWasCounted) {
  EchoServer server;
  echo::SayResponse response;
  ASSERT_TRUE(Say(server.stub(), response).ok());
  const auto http = rpc::MetricsHttp::Start("127.0.0.1:0", false, server.metrics());
  ASSERT_TRUE(http.ok()) << Message(http.status());
  const std::string page = HttpGet((*http)->address(), "/metrics");
  EXPECT_THAT(page, HasSubstr("winnow_rpc_requests_total{code=\"OK\""));
  EXPECT_THAT(page, HasSubstr("winnow_rpc_queue_depth{pool=\"write\"} 0"));
}

TEST(MetricsPort, MayBeOffAndSaysWhatIsWrong) {
  const Metrics metrics;
  EXPECT_EQ(*rpc::MetricsHttp::Start("off", false, metrics), nullptr);
  EXPECT_THAT(Message(rpc::MetricsHttp::Start("0.0.0.0:0", false, metrics).status()),
              HasSubstr("metrics.insecure"));
  const auto first = rpc::MetricsHttp::Start("127.0.0.1:0", false, metrics);
  ASSERT_TRUE(first.ok());
  const auto second = rpc::MetricsHttp::Start((*first)->address(), false, metrics);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(ViolationsOf(second.status()).at(0).field, "metrics.listen");
  EXPECT_THAT(Message(second.status()),
              AllOf(HasSubstr("another process listens there"), HasSubstr("with --metrics")));
}

}  // namespace
}  // namespace winnow::test
