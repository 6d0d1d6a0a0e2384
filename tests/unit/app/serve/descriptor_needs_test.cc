#include "services/app/serve/descriptor_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/platform/config/config.h"

namespace winnow::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

config::v1::Config Filled(double cpus = 2) {
  config::v1::Config config;
  FillDefaults(config, {.cpus = cpus});
  return config;
}

size_t SumOf(const config::v1::Config& config) {
  size_t sum = 0;
  for (const DescriptorNeed& need : DescriptorNeeds(config)) sum += need.count;
  return sum;
}

TEST(DescriptorNeeds, GrowWithWhatIsConfigured) {
  config::v1::Config config = Filled();
  const size_t plain = SumOf(config);
  config.mutable_postgres()->set_read_connections(config.postgres().read_connections() + 10);
  EXPECT_EQ(SumOf(config), plain + 10);
  config.mutable_redis()->set_url("redis://127.0.0.1:6379");
  EXPECT_EQ(SumOf(config), plain + 10 + static_cast<size_t>(config.redis().connections()));
  config.mutable_classification()->mutable_llm()->set_url("http://127.0.0.1:1/v1");
  EXPECT_GT(SumOf(config), plain + 10 + static_cast<size_t>(config.redis().connections()));
}

TEST(DescriptorNeeds, AreThoseOfTheChosenTargetsOnly) {
  config::v1::Config config = Filled();
  const size_t all = SumOf(config);
  config.clear_targets();
  config.add_targets("polling");
  EXPECT_LT(SumOf(config), all);
}

// What the first run gets on a small machine must do under the lowest limit that is common.
TEST(DescriptorNeeds, AreFarBelowTheUsualLimits) {
  EXPECT_LT(SumOf(Filled(2)), 250U);
  EXPECT_LT(SumOf(Filled(64)), 600U);
}

TEST(ConnectionLimits, AreWhatTheDescriptorLimitLeaves) {
  const config::v1::Config config = Filled();
  const size_t needs = SumOf(config);
  const auto limits = ConnectionLimitsOf(config, needs + 1'000);
  ASSERT_TRUE(limits.ok()) << Message(limits.status());
  EXPECT_EQ(limits->total, 1'000U);
  EXPECT_EQ(limits->per_address, 500U);
  EXPECT_EQ(ConnectionLimitsOf(config, 1'048'576)->total, 10'000U);
}

TEST(ConnectionLimits, AreTheConfiguredOnesWhereThereIsRoom) {
  config::v1::Config config = Filled();
  config.mutable_calls()->set_max_connections(70);
  config.mutable_calls()->set_max_connections_per_address(7);
  const auto limits = ConnectionLimitsOf(config, SumOf(config) + 70);
  ASSERT_TRUE(limits.ok()) << Message(limits.status());
  EXPECT_EQ(limits->total, 70U);
  EXPECT_EQ(limits->per_address, 7U);
  EXPECT_THAT(Message(ConnectionLimitsOf(config, SumOf(config) + 69).status()),
              HasSubstr("lower calls.max_connections"));
}

TEST(ConnectionLimits, NameTheLimitTheNeedAndTheRemedy) {
  const config::v1::Config config = Filled();
  const size_t minimum = SumOf(config) + 32;
  EXPECT_TRUE(ConnectionLimitsOf(config, minimum).ok());
  const Status status = ConnectionLimitsOf(config, minimum - 1).status();
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("limit on open files is " + std::to_string(minimum - 1)),
                    HasSubstr("needs " + std::to_string(minimum)), HasSubstr("for PostgreSQL"),
                    HasSubstr("ulimit -n"), HasSubstr("LimitNOFILE=")));
}

}  // namespace
}  // namespace winnow::app
