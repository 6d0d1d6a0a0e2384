#include "services/platform/grpc/runtime/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace winnow::rpc {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

TEST(Auth, KnowsTheBearerOfTheToken) {
  const Auth auth(kToken);
  EXPECT_TRUE(auth.token_needed());
  EXPECT_EQ(auth.CallerOf(std::string("Bearer ") + kToken), "bearer");
  EXPECT_EQ(auth.CallerOf(std::string("bearer ") + kToken), "bearer");
  EXPECT_EQ(auth.CallerOf(auth.bearer_header()), "bearer");
}

TEST(Auth, KnowsNobodyElse) {
  const Auth auth(kToken);
  const std::string token = kToken;
  const std::vector<std::string> headers = {"",
                                            token,
                                            "Bearer",
                                            "Bearer ",
                                            "Basic " + token,
                                            "Bearer " + token + "0",
                                            "Bearer " + token.substr(1),
                                            "Bearer  " + token,
                                            "Bearer " + std::string(32, '0')};
  for (const std::string& header : headers) {
    EXPECT_EQ(auth.CallerOf(header), "") << header;
  }
}

TEST(Auth, KnowsItsOwnPeersAlsoWithoutAToken) {
  const Auth auth("");
  EXPECT_FALSE(auth.token_needed());
  EXPECT_EQ(auth.bearer_header(), "");
  EXPECT_EQ(auth.CallerOf(auth.in_process_header()), "inprocess");
  EXPECT_EQ(auth.CallerOf("Bearer "), "");
}

TEST(Auth, MakesUpAnotherSecretEachTime) {
  EXPECT_NE(Auth("").in_process_header(), Auth("").in_process_header());
  EXPECT_EQ(Auth("").CallerOf(Auth("").in_process_header()), "");
}

TEST(BearerToken, IsOneLineOf16To512VisibleCharacters) {
  EXPECT_TRUE(CheckBearerToken(std::string(16, 'a')).ok());
  EXPECT_TRUE(CheckBearerToken(std::string(512, 'a')).ok());
  for (const std::string& bad :
       {std::string(), std::string(15, 'a'), std::string(513, 'a'), std::string(20, ' '),
        std::string("0123456789abcdef\n0"), std::string("0123456789abcdef\xec\x9d\x80")}) {
    const auto checked = CheckBearerToken(bad);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(ViolationsOf(checked.status()).at(0).field, "auth.bearer_token_file");
  }
}

}  // namespace
}  // namespace winnow::rpc
