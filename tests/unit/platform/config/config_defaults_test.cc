#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "services/platform/config/config.h"

namespace winnow {
namespace {

using config::v1::Config;
using ::testing::ElementsAre;

Config Filled(std::string_view json) {
  auto config = ParseConfig(json, "w.json");
  EXPECT_TRUE(config.ok()) << config.status();
  FillDefaults(*config, {.cpus = 2});
  return *config;
}

TEST(Defaults, AreThoseOfTheProto) {
  Config config;
  FillDefaults(config, {.cpus = 6});
  EXPECT_THAT(config.targets(), ElementsAre("all"));
  EXPECT_EQ(config.listen(), "127.0.0.1:7400");
  EXPECT_EQ(config.postgres().url(), "postgres-private:");
  EXPECT_EQ(config.postgres().read_connections(), 12);
  EXPECT_EQ(config.postgres().write_connections(), 12);
  EXPECT_TRUE(config.postgres().migrate_on_start());
  EXPECT_EQ(config.events().url(), "inprocess:");
  EXPECT_EQ(config.events().max_deliveries(), 20);
  EXPECT_EQ(config.log().level(), "info");
  EXPECT_EQ(config.metrics().listen(), "127.0.0.1:7490");
  EXPECT_EQ(config.calls().read_threads(), 12);
  EXPECT_EQ(config.calls().write_threads(), 6);
  EXPECT_EQ(config.calls().queue_limit(), 1000);
  EXPECT_EQ(config.calls().default_deadline().seconds(), 10);
  EXPECT_EQ(config.calls().drain_delay().seconds(), 0);
  EXPECT_EQ(config.calls().drain_timeout().seconds(), 10);
  EXPECT_EQ(config.calls().transport_memory_bytes(), 512 << 20);
  EXPECT_EQ(config.calls().stream_memory_bytes(), 128 << 20);
  EXPECT_EQ(config.calls().ingest_idle_timeout().seconds(), 30);
  EXPECT_EQ(config.dedup().window().seconds(), 86'400);
  EXPECT_EQ(config.dedup().token_threshold(), 0.8);
  EXPECT_EQ(config.dedup().candidate_floor(), 0.5);
  EXPECT_EQ(config.dedup().max_documents(), 4'000'000);
  EXPECT_EQ(config.newsfeed().max_future().seconds(), 600);
  EXPECT_EQ(config.newsfeed().stale_after().seconds(), 600);
  EXPECT_EQ(config.redis().connections(), 4);
  EXPECT_EQ(config.classification().retention().seconds(), 30 * 86'400);
  const auto& llm = config.classification().llm();
  EXPECT_EQ(llm.fallback_model(), "embedded");
  EXPECT_EQ(llm.batch_size(), 16);
  EXPECT_EQ(llm.concurrency(), 4);
  EXPECT_EQ(llm.max_prompt_tokens(), 6'000);
  EXPECT_EQ(llm.max_output_tokens(), 4'096);
  EXPECT_EQ(llm.timeout().seconds(), 60);
  EXPECT_EQ(llm.patience().seconds(), 600);
}

TEST(Defaults, DoNotReplaceWhatIsSet) {
  const char* json = R"({"targets": ["dedup"], "listen": "127.0.0.1:1", "data_dir": "/d",
    "postgres": {"url": "postgres://u@h/d", "read_connections": 7, "write_connections": 8},
    "events": {"url": "amqp://h", "max_deliveries": 3}, "log": {"level": "warn"},
    "metrics": {"listen": "off"}, "calls": {"read_threads": 9, "write_threads": 10,
    "queue_limit": 11, "default_deadline": "12s", "drain_delay": "13s", "drain_timeout": "14s",
    "transport_memory_bytes": 134217729, "stream_memory_bytes": 1048577,
    "ingest_idle_timeout": "15s"},
    "dedup": {"window": "60s", "token_threshold": 0.6, "candidate_floor": 0.4,
    "max_documents": 2000}, "newsfeed": {"max_future": "15s", "stale_after": "70s",
    "memory_articles": 16, "memory_feeds": 17},
    "redis": {"connections": 5}, "classification": {"retention": "18s",
    "llm": {"fallback_model": "none", "batch_size": 18, "concurrency": 19,
    "max_prompt_tokens": 200, "max_output_tokens": 201, "timeout": "20s", "patience": "21s"}},
    "collector": {"lease": "19s", "run_threads": 20, "run_retention": "21s",
    "vendor_timeout": "0.5s", "feed_timeout": "22s", "page_timeout": "23s", "credentials": [
    {"name": "n", "vendor": "naver", "base_url": "http://h/", "calls_per_second": 22,
    "calls_per_day": 23, "reset_time": "24s"}]}})";
  const Config before = *ParseConfig(json, "w.json");
  Config after = before;
  FillDefaults(after, {.cpus = 2});
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(before, after))
      << after.DebugString();
}

TEST(Defaults, PoolsAreAtLeastFourAndWithinTheirLimits) {
  Config few;
  FillDefaults(few, {.cpus = 1});
  EXPECT_EQ(few.calls().read_threads(), 4);
  EXPECT_EQ(few.calls().write_threads(), 4);
  EXPECT_EQ(few.postgres().read_connections(), 4);
  Config many;
  FillDefaults(many, {.cpus = 1000});
  many.set_data_dir("/d");
  EXPECT_TRUE(CheckConfig(many).ok()) << CheckConfig(many);
}

TEST(Defaults, TheFloorIsNeverAboveTheThreshold) {
  EXPECT_EQ(Filled(R"({"dedup": {"token_threshold": 0.3}})").dedup().candidate_floor(), 0.3);
}

TEST(Defaults, FilledTwiceIsFilledOnce) {
  const Config once = Filled("{}");
  Config twice = once;
  FillDefaults(twice, {.cpus = 7});
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(once, twice));
}

TEST(Defaults, ACredentialHasThePlanOfItsVendor) {
  const Config config = Filled(R"({"collector": {"credentials": [
    {"name": "a", "vendor": "naver", "id_file": "i", "key_file": "k"},
    {"name": "b", "vendor": "newsdata", "key_file": "k"}]}})");
  EXPECT_TRUE(CheckConfig(config).ok());
  EXPECT_EQ(config.collector().credentials(0).calls_per_day(), 25'000);
  EXPECT_EQ(config.collector().credentials(0).reset_time().seconds(), 54'000);
  EXPECT_EQ(config.collector().credentials(1).calls_per_quarter_hour(), 30);
}

}  // namespace
}  // namespace winnow
