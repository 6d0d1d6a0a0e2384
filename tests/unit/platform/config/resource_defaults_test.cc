#include "services/platform/config/resource_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "services/platform/config/config.h"

namespace winnow {
namespace {

using config::v1::Config;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = 1024 * kMiB;

MachineLimits Limited(int64_t memory_bytes, double cpus = 2) {
  return {
      .cpus = cpus, .has_cpu_quota = true, .memory_bytes = memory_bytes, .has_memory_limit = true};
}

// A pod of the chart: one target of several.
Config Pod(const std::string& target) {
  Config config;
  config.add_targets(target);
  config.mutable_postgres()->set_url("postgres://u@h/d");
  config.mutable_events()->set_url("amqp://h");
  config.mutable_peers()->set_collector("collector:7400");
  config.set_data_dir("/d");
  return config;
}

Config Filled(Config config, const MachineLimits& limits) {
  FillDefaults(config, limits);
  return config;
}

int64_t Sum(const Config& config) {
  const std::vector<MemoryPart> parts = EstimateMemory(config);
  return std::accumulate(parts.begin(), parts.end(), int64_t{0},
                         [](int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

const std::vector<std::string> kTargets = {"collector", "dedup", "newsfeed", "classification",
                                           "polling"};

TEST(ResourceDefaults, FitIntoEveryLimitWithAFifthToSpare) {
  for (const std::string& target : kTargets) {
    for (const int64_t memory : {768 * kMiB, kGiB, 2 * kGiB, 8 * kGiB, 64 * kGiB}) {
      const Config config = Filled(Pod(target), Limited(memory));
      EXPECT_LE(Sum(config), memory - memory / 5) << target << " in " << memory / kMiB << " MiB";
      EXPECT_TRUE(CheckConfig(config).ok()) << CheckConfig(config);
      EXPECT_THAT(ResourceWarnings(config, Limited(memory)), IsEmpty()) << target;
    }
  }
}

TEST(ResourceDefaults, OfAllTargetsWithAPrivatePostgresFitIntoTwoGibibytes) {
  Config config;
  config.set_data_dir("/d");
  config = Filled(config, Limited(2 * kGiB));
  EXPECT_LE(Sum(config), 2 * kGiB - 2 * kGiB / 5);
  EXPECT_THAT(ResourceWarnings(config, Limited(2 * kGiB)), IsEmpty());
}

TEST(ResourceDefaults, GrowWithTheLimitUpToTheirMost) {
  const Config small = Filled(Pod("dedup"), Limited(kGiB));
  const Config larger = Filled(Pod("dedup"), Limited(2 * kGiB));
  const Config largest = Filled(Pod("dedup"), Limited(256 * kGiB));
  EXPECT_GT(small.dedup().max_documents(), 250'000);
  EXPECT_GT(larger.dedup().max_documents(), 2 * small.dedup().max_documents());
  EXPECT_GE(larger.dedup().max_documents(), 800'000);
  EXPECT_LT(small.calls().transport_memory_bytes(), larger.calls().transport_memory_bytes());
  EXPECT_EQ(largest.dedup().max_documents(), 4'000'000);
  EXPECT_EQ(largest.calls().transport_memory_bytes(), 512 * kMiB);
  EXPECT_EQ(largest.calls().stream_memory_bytes(), 128 * kMiB);
}

TEST(ResourceDefaults, FeedsAreWhatNewsfeedHasMemoryFor) {
  const Config small = Filled(Pod("newsfeed"), Limited(kGiB));
  EXPECT_EQ(small.newsfeed().memory_articles(), 1'000);
  EXPECT_GE(small.newsfeed().memory_feeds(), 128);
  EXPECT_EQ(Filled(Pod("newsfeed"), Limited(4 * kGiB)).newsfeed().memory_feeds(), 256);
}

TEST(ResourceDefaults, TheOldMostAreThoseOfAnUnknownMachine) {
  const Config config = Filled(Config(), {.cpus = 2});
  EXPECT_EQ(config.calls().transport_memory_bytes(), 512 * kMiB);
  EXPECT_EQ(config.calls().stream_memory_bytes(), 128 * kMiB);
  EXPECT_EQ(config.dedup().max_documents(), 4'000'000);
  EXPECT_EQ(config.newsfeed().memory_feeds(), 256);
}

TEST(ResourceDefaults, WithoutALimitHalfOfTheMachineIsUsed) {
  const MachineLimits machine = {.cpus = 2, .memory_bytes = 2 * kGiB};
  const Config unlimited = Filled(Pod("dedup"), machine);
  const Config limited = Filled(Pod("dedup"), Limited(kGiB));
  EXPECT_EQ(unlimited.dedup().max_documents(), limited.dedup().max_documents());
}

TEST(ResourceDefaults, ExplicitSettingsWinAndLeaveLessForOthers) {
  Config config = Pod("dedup");
  config.mutable_calls()->set_transport_memory_bytes(400 * kMiB);
  config.mutable_postgres()->set_read_connections(77);
  config = Filled(config, Limited(kGiB));
  EXPECT_EQ(config.calls().transport_memory_bytes(), 400 * kMiB);
  EXPECT_EQ(config.postgres().read_connections(), 77);
  const Config derived = Filled(Pod("dedup"), Limited(kGiB));
  EXPECT_LT(config.dedup().max_documents(), derived.dedup().max_documents() - 100'000);
}

TEST(ResourceDefaults, VectorsAreCountedWhereThereIsAnEmbedder) {
  Config config = Pod("dedup");
  config.mutable_dedup()->mutable_embedder()->set_url("http://e/v1");
  config = Filled(config, Limited(kGiB));
  EXPECT_LT(config.dedup().max_documents(),
            Filled(Pod("dedup"), Limited(kGiB)).dedup().max_documents() * 6 / 10);
  EXPECT_GE(config.dedup().embedder().cached_vectors(), 1'000);
  EXPECT_LE(Sum(config), kGiB - kGiB / 5);
}

TEST(ResourceDefaults, AnEmbedderOfOtherProcessesIsCompleteToo) {
  Config config = Pod("collector");
  config.mutable_dedup()->mutable_embedder()->set_url("http://e/v1");
  config = Filled(config, Limited(kGiB));
  EXPECT_GE(config.dedup().embedder().cached_vectors(), 1'000);
  EXPECT_EQ(Sum(config), Sum(Filled(Pod("collector"), Limited(kGiB))));
}

TEST(ResourceDefaults, PoolsOfAPodStaySmallOnALargeNode) {
  const MachineLimits node = {.cpus = 32, .memory_bytes = kGiB, .has_memory_limit = true};
  for (const std::string& target : kTargets) {
    const Config pod = Filled(Pod(target), node);
    EXPECT_EQ(pod.postgres().read_connections(), 8);
    EXPECT_EQ(pod.postgres().write_connections(), 8);
    EXPECT_EQ(pod.calls().read_threads(), 32);
    EXPECT_EQ(pod.calls().write_threads(), 16);
    EXPECT_LE(pod.postgres().read_connections() + pod.postgres().write_connections() +
                  LogConnections(pod) + kEventConnections,
              29);
  }
  Config alone;
  alone.set_data_dir("/d");
  alone = Filled(alone, node);
  EXPECT_EQ(alone.postgres().read_connections(), 16);
  EXPECT_EQ(LogConnections(alone), 12);
}

TEST(ResourceDefaults, AFractionOfACpuHasTheSmallestPools) {
  const Config config = Filled(Pod("newsfeed"), Limited(kGiB, 0.25));
  EXPECT_EQ(config.postgres().read_connections(), 4);
  EXPECT_EQ(config.calls().read_threads(), 4);
  EXPECT_EQ(Filled(Pod("newsfeed"), Limited(kGiB, 2.5)).postgres().read_connections(), 6);
}

TEST(ResourceDefaults, EachDerivedSettingHasItsOrigin) {
  Config config = Pod("dedup");
  config.mutable_calls()->set_read_threads(5);
  std::vector<std::string> lines;
  for (const DerivedSetting& each : FillDefaults(config, Limited(kGiB, 1.5))) {
    lines.push_back(each.field + ": " + each.origin);
  }
  const std::string cpu = ": derived from CPU quota 1.5";
  const std::string memory = ": derived from memory limit 1 GiB";
  EXPECT_THAT(lines,
              ElementsAre("postgres.read_connections" + cpu, "postgres.write_connections" + cpu,
                          "calls.write_threads" + cpu, "calls.transport_memory_bytes" + memory,
                          "calls.stream_memory_bytes" + memory, "newsfeed.memory_feeds" + memory,
                          "dedup.max_documents" + memory));
}

TEST(ResourceDefaults, OriginsSayWhereThereIsNoLimit) {
  Config config = Pod("dedup");
  const auto derived = FillDefaults(config, {.cpus = 32, .memory_bytes = 24 * kGiB});
  EXPECT_EQ(derived.front().origin, "derived from 32 CPUs (no CPU quota)");
  EXPECT_EQ(derived.back().origin,
            "derived from half of the machine's memory, 24 GiB (no memory limit)");
}

TEST(ResourceWarnings, NameTheLargestSettingOfASumThatCannotFit) {
  Config config = Pod("dedup");
  config.mutable_dedup()->set_max_documents(4'000'000);
  config = Filled(config, Limited(kGiB));
  const auto warnings = ResourceWarnings(config, Limited(kGiB));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("more than the memory limit of 1 GiB (dedup.max_documents "));
}

TEST(ResourceWarnings, ALimitBelowTheLeastIsNamed) {
  const auto limits = Limited(128 * kMiB);
  const Config config = Filled(Pod("collector"), limits);
  EXPECT_TRUE(CheckConfig(config).ok());
  EXPECT_THAT(ResourceWarnings(config, limits), ElementsAre(HasSubstr("limit of 128 MiB")));
}

TEST(ResourceDefaults, AbsurdSettingsAreLeftToTheCheck) {
  Config config = Pod("all");
  config.mutable_calls()->set_stream_memory_bytes(INT64_MAX);
  config.mutable_calls()->set_transport_memory_bytes(INT64_MIN);
  config.mutable_newsfeed()->set_memory_feeds(INT32_MAX);
  config.mutable_newsfeed()->set_memory_articles(INT32_MIN);
  config.mutable_postgres()->set_read_connections(INT32_MAX);
  config = Filled(config, Limited(kGiB));
  EXPECT_EQ(config.dedup().max_documents(), 10'000);
  EXPECT_FALSE(CheckConfig(config).ok());
}

}  // namespace
}  // namespace winnow
