#include "services/platform/base/url/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow {
namespace {

TEST(ListenAddress, IsHostAndPort) {
  for (const auto& [text, host, port] : {std::tuple{"127.0.0.1:7400", "127.0.0.1", 7400},
                                         {"localhost:0", "localhost", 0},
                                         {"[::1]:65535", "::1", 65535},
                                         {"0.0.0.0:1", "0.0.0.0", 1}}) {
    const auto address = ParseListenAddress(text, "listen");
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(ListenAddress, RefusesAnythingElseByTheNameOfItsField) {
  for (const char* text : {"", ":", "7400", "127.0.0.1", "127.0.0.1:", ":7400", "127.0.0.1:-1",
                           "127.0.0.1:65536", "127.0.0.1:7400x", "::1:7400", "[]:1", "a b:1",
                           "127.0.0.1: 7400", "127.0.0.1:99999999999"}) {
    const auto address = ParseListenAddress(text, "metrics.listen");
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(ViolationsOf(address.status()).at(0).field, "metrics.listen");
    EXPECT_THAT(ViolationsOf(address.status()).at(0).description,
                ::testing::HasSubstr("HOST:PORT"));
  }
}

TEST(ListenAddress, KnowsWhatOnlyThisMachineReaches) {
  for (const char* host : {"127.0.0.1", "127.255.0.9", "::1", "localhost"}) {
    EXPECT_TRUE((ListenAddress{host, 1}.IsLoopback())) << host;
  }
  for (const char* host :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "example.com", "127.0.0.1.x"}) {
    EXPECT_FALSE((ListenAddress{host, 1}.IsLoopback())) << host;
  }
}

}  // namespace
}  // namespace winnow
