#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/platform/postgres/server/account.h"
#include "services/platform/postgres/server/admin.h"
#include "services/platform/postgres/server/data_dir.h"
#include "services/platform/postgres/server/programs.h"

namespace winnow::pg {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(PrivatePostgresAccount, RefusesAUserIdWithoutAPasswdEntry) {
  const auto account = AccountFor(3'999'999'999);
  ASSERT_EQ(account.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(account.status()),
              AllOf(HasSubstr("3999999999"), HasSubstr("passwd"), HasSubstr("postgres://")));
}

TEST(PrivatePostgresDataDir, FollowsXdgForAUserAndIsVarLibForRoot) {
  const Account user = {1000, 1000, "mina", "/home/mina", /*drop=*/false};
  EXPECT_EQ(DefaultDataDir(user, nullptr, nullptr), "/home/mina/.local/share/winnow");
  EXPECT_EQ(DefaultDataDir(user, nullptr, "/h"), "/h/.local/share/winnow");
  EXPECT_EQ(DefaultDataDir(user, "relative", "relative"), "/home/mina/.local/share/winnow");
  EXPECT_EQ(DefaultDataDir(user, "/x", "/h"), "/x/winnow");
  const Account server = {101, 104, "postgres", "/var/lib/postgresql", /*drop=*/true};
  EXPECT_EQ(DefaultDataDir(server, "/x", "/h"), "/var/lib/winnow");
}

TEST(PrivatePostgresPrograms, ANewClusterTakesTheNewestAndAnOldOneItsOwn) {
  const std::vector<Programs> installed = {{"/15", 15}, {"/17", 17}, {"/16", 16}, {"/14", 14}};
  EXPECT_EQ(ChoosePrograms(installed, std::nullopt, "/d")->bin_dir, "/17");
  EXPECT_EQ(ChoosePrograms(installed, 15, "/d")->bin_dir, "/15");
  EXPECT_EQ(ChoosePrograms(installed, 14, "/d")->bin_dir, "/14");
}

TEST(PrivatePostgresPrograms, TooOldOnesAreNotEnoughForANewCluster) {
  const auto chosen = ChoosePrograms({{"/13", 13}}, std::nullopt, "/d");
  EXPECT_THAT(Message(chosen.status()), AllOf(HasSubstr("13 (/13)"), HasSubstr("postgresql-15")));
}

TEST(PrivatePostgresUrl, EncodesWhatIsNotPlain) {
  EXPECT_THAT(SocketUrl("/a b/%/뉴", "winnow", "x&y"),
              AllOf(HasSubstr("host=%2Fa%20b%2F%25%2F%EB%89%B4&"), HasSubstr("@/x%26y?")));
}

}  // namespace
}  // namespace winnow::pg
