#include <gtest/gtest.h>

#include "services/platform/http/address.h"
#include "services/platform/http/client.h"
#include "tests/support/http/fake_http.h"

namespace winnow::http {
namespace {

using test::FakeHttpServer;
using test::FakeReply;
using test::FakeRequest;

// Addresses and URLs by which a caller might reach what is not public. "%" stands for the port of
// a server on this machine that must never hear of it.
constexpr const char* kEscapes[] = {
    // spellings of loopback
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://127.255.255.254/",
    "http://0.0.0.0/",
    "http://0/",
    "http://%31%32%37.0.0.1/",
    "http://127。0。0。1/",
    "http://①②⑦.⓪.⓪.①/",
    // IPv6, and IPv4 inside it
    "http://[::1]/",
    "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::1]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    // private, shared, reserved
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://198.18.0.1/",
    "http://192.0.2.1/",
    "http://198.51.100.1/",
    "http://203.0.113.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://192.88.99.1/",
    "http://192.0.0.192/",
    // metadata services
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    // ports, schemes, users
    "http://127.0.0.1:%/",
    "http://localhost:%/",
    "http://example.com:%/",
    "http://example.com:22/",
    "http://example.com:0/",
    "https://example.com:8443/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:%/_GET",
    "dict://127.0.0.1:%/",
    "ftp://127.0.0.1/",
    "scp://127.0.0.1/",
    "http://example.com@127.0.0.1/",
    "http://user:pass@example.com/",
    "http://127.0.0.1\\@a.com/",
    "http:///127.0.0.1/",
    "//127.0.0.1/",
    "127.0.0.1",
    "",
    "http://",
    "http://\r\nHost: a/",
};

TEST(Escapes, NoneReachesWhatIsNotPublic) {
  static_assert(std::size(kEscapes) >= 60);
  FakeHttpServer server([](const FakeRequest&, FakeReply& reply) { reply.Send(200, "escaped"); });
  Metrics metrics;
  ClientOptions options;
  options.name = "test";
  Client client(options, metrics);
  for (std::string url : kEscapes) {
    if (const size_t mark = url.find(":%"); mark != std::string::npos) {
      url.replace(mark + 1, 1, std::to_string(server.port()));
    }
    Request request;
    request.url = url;
    const auto response = client.Fetch(request);
    const ErrorKind kind = KindOf(response.status());
    // A name may not resolve here at all; nothing else may happen but a refusal.
    EXPECT_TRUE(kind == ErrorKind::kRefusedAddress || kind == ErrorKind::kBadUrl ||
                kind == ErrorKind::kDns)
        << url << " gave " << NameOf(kind);
  }
  EXPECT_EQ(server.connections(), 0U);
}

TEST(Addresses, OfThePublicInternetAreGlobal) {
  for (const char* address : {"1.1.1.1",         "8.8.8.8",         "9.255.255.255",
                              "11.0.0.0",        "100.63.255.255",  "100.128.0.0",
                              "126.255.255.255", "128.0.0.0",       "168.63.129.15",
                              "169.253.255.255", "169.255.0.0",     "172.15.255.255",
                              "172.32.0.0",      "191.255.255.255", "192.0.1.0",
                              "192.167.255.255", "192.169.0.0",     "198.17.255.255",
                              "198.20.0.0",      "223.255.255.255", "2001:4860:4860::8888",
                              "2606:4700::1111", "2400:cb00::1",    "64:ff9b::808:808"}) {
    EXPECT_TRUE(IsGlobalAddress(std::string(address))) << address;
  }
}

TEST(Addresses, SetApartAreNot) {
  for (const char* address : {"", "x", "1.2.3", "0.1.2.3", "255.255.255.255", "::ffff:8.8.8.8",
                              "2001:1ff::1", "3fff::1", "3ffe::1", "4000::1", "::2", "5f00::1"}) {
    EXPECT_FALSE(IsGlobalAddress(std::string(address))) << address;
  }
}

}  // namespace
}  // namespace winnow::http
