#include "services/platform/redis/address.h"

#include <gtest/gtest.h>

namespace winnow::redis {
namespace {

TEST(RedisUrl, NamesAHostWithDefaults) {
  const auto address = ParseUrl("redis://cache");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, "cache");
  EXPECT_EQ(address->port, 6379);
  EXPECT_EQ(address->db, 0);
  EXPECT_EQ(address->ToString(), "redis://cache:6379");
}

TEST(RedisUrl, HoldsUserPasswordPortAndDatabase) {
  const auto address = ParseUrl("redis://reader:p%40ss%3Aword@[::1]:7001/3");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->user, "reader");
  EXPECT_EQ(address->password, "p@ss:word");
  EXPECT_EQ(address->host, "::1");
  EXPECT_EQ(address->port, 7001);
  EXPECT_EQ(address->db, 3);
  EXPECT_EQ(address->ToString(), "redis://[::1]:7001/3");
}

TEST(RedisUrl, TakesAPasswordWithoutUser) {
  const auto address = ParseUrl("redis://:secret@h:1/");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->user, "");
  EXPECT_EQ(address->password, "secret");
}

TEST(RedisUrl, NamesAUnixSocket) {
  const auto address = ParseUrl("redis+unix:///run/redis%20x.sock?db=2");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->socket, "/run/redis x.sock");
  EXPECT_EQ(address->db, 2);
}

TEST(RedisUrl, RefusesWhatIsNoneAndNeverShowsIt) {
  for (const char* url :
       {"", "redis://", "redis:/h", "rediss://h", "redis://h:0", "redis://h:x", "redis://h/-1",
        "redis://h/1x", "redis://h/9999999", "redis://:secret@h:99999", "redis://h?db=1",
        "redis+unix://relative", "redis+unix:///s?x=1", "redis+unix:///s?db=", "http://h"}) {
    const auto address = ParseUrl(url);
    ASSERT_FALSE(address.ok()) << url;
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(ViolationsOf(address.status()).at(0).description.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace winnow::redis
