#include "services/platform/redis/reply_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace winnow::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;

// The first reply in `bytes`, fed one byte at a time.
StatusOr<std::optional<Reply>> Read(std::string_view bytes) {
  ReplyReader reader;
  for (const char byte : bytes) {
    const Status fed = reader.Feed(std::string_view(&byte, 1));
    if (!fed.ok()) return fed;
    StatusOr<std::optional<Reply>> reply = reader.Next();
    if (!reply.ok() || reply->has_value()) return reply;
  }
  return std::optional<Reply>();
}

Reply Whole(std::string_view bytes) {
  auto reply = Read(bytes);
  EXPECT_TRUE(reply.ok() && reply->has_value()) << reply.status();
  return reply.ok() && reply->has_value() ? **reply : Reply();
}

TEST(RedisReply, IsReadByteByByte) {
  EXPECT_EQ(*Whole(":-42\r\n").Integer(), -42);
  EXPECT_EQ(*Whole("+OK\r\n").Text(), "OK");
  EXPECT_EQ(*Whole(std::string_view("$4\r\na\0\r\n\r\n", 10)).Text(), std::string("a\0\r\n", 4));
  EXPECT_TRUE(Whole("$-1\r\n").IsNil());
  EXPECT_TRUE(Whole("*-1\r\n").IsNil());
  EXPECT_THAT(*Whole("*2\r\n$1\r\na\r\n$-1\r\n").MaybeTexts(),
              ElementsAre(Optional(std::string("a")), std::nullopt));
  EXPECT_THAT(*Whole("*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n").Pairs(),
              ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

TEST(RedisReply, NestsArrays) {
  const Reply reply = Whole("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n$1\r\nx\r\n");
  ASSERT_NE(reply.items(), nullptr);
  EXPECT_EQ(*reply.items()->at(0).items()->at(1).Integer(), 2);
  EXPECT_THAT(*reply.items()->at(1).Texts(), ElementsAre("x"));
}

TEST(RedisReply, ErrorsBecomeStatusesWithoutItsText) {
  const Reply wrong = Whole("-WRONGTYPE secret key\r\n");
  ASSERT_NE(wrong.error(), nullptr);
  EXPECT_EQ(wrong.Integer().status().code(), StatusCode::kInternal);
  EXPECT_EQ(ReasonOf(Whole("-LOADING secret\r\n").ToStatus()), Reason::kRedisUnavailable);
  EXPECT_EQ(Message(Whole("-LOADING secret\r\n").ToStatus()).find("secret"), std::string::npos);
  EXPECT_EQ(Whole(":1\r\n").Text().status().code(), StatusCode::kInternal);
  EXPECT_EQ(Whole("*1\r\n:1\r\n").Texts().status().code(), StatusCode::kInternal);
  EXPECT_EQ(Whole("*1\r\n$1\r\na\r\n").Pairs().status().code(), StatusCode::kInternal);
}

TEST(RedisReply, IsRefusedWhenItIsNoneOrTooLarge) {
  for (const char* bytes :
       {"HTTP/1.1 200 OK\r\n", "*99999999\r\n", "$x\r\n", ":\r\n", "*5000\r\nq"}) {
    EXPECT_EQ(ReasonOf(Read(bytes).status()), Reason::kRedisUnavailable) << bytes;
  }
  std::string nested;  // each announces a little less than what is allowed in all
  for (int i = 0; i < 3; ++i) nested += "*900000\r\n";
  EXPECT_FALSE(Read(nested).ok());
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "*1\r\n";
  EXPECT_FALSE(Read(deep).ok());
}

TEST(RedisReply, ManyAfterAnotherDoNotAddUp) {
  ReplyReader reader;
  for (int i = 0; i < 3; ++i) {
    std::string many = "*400000\r\n";
    for (int k = 0; k < 400'000; ++k) many += ":1\r\n";
    ASSERT_TRUE(reader.Feed(many).ok());
    const auto reply = reader.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << reply.status();
    EXPECT_EQ((*reply)->items()->size(), 400'000U);
  }
}

TEST(RedisReply, AnyBytesAreAReplyOrAnErrorNeverACrash) {
  std::mt19937 random(7);
  constexpr char kAlphabet[] = "*$:+-\r\n0123459a";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    for (size_t i = random() % 40; i > 0; --i) bytes += kAlphabet[random() % 15];
    ReplyReader reader;
    if (!reader.Feed(bytes).ok()) continue;
    for (int i = 0; i < 50; ++i) {
      const auto reply = reader.Next();
      if (!reply.ok() || !reply->has_value()) break;
    }
  }
}

}  // namespace
}  // namespace winnow::redis
