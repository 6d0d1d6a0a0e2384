#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/platform/config/config_test.h"

namespace winnow {
namespace {

using config::v1::Config;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckConfig, ALanguageModelHasAUrlAModelAndLimits) {
  Config config;
  FillDefaults(config, {.cpus = 2});
  config.set_data_dir("/d");
  auto& llm = *config.mutable_classification()->mutable_llm();
  llm.set_url("ftp://host");
  llm.set_batch_size(251);
  llm.set_concurrency(65);
  llm.set_output_price_micros(-1);
  std::vector<std::string> fields;
  for (const Violation& one : ViolationsOf(CheckConfig(config))) fields.push_back(one.field);
  EXPECT_THAT(fields, testing::ElementsAre("classification.llm.url", "classification.llm.model",
                                           "classification.llm.batch_size",
                                           "classification.llm.concurrency",
                                           "classification.llm.output_price_micros"));
  llm.Clear();
  FillDefaults(config, {.cpus = 2});
  llm.set_url("http://127.0.0.1:8000/v1");
  llm.set_model("m");
  EXPECT_TRUE(CheckConfig(config).ok()) << CheckConfig(config);
}

TEST(CheckConfig, CredentialsAreCheckedEach) {
  EXPECT_THAT(CheckLines(R"({"collector": {"allow": ["h"], "credentials": [
                {"name": "a", "vendor": "naver", "key_file": "k"},
                {"name": "a", "vendor": "x", "id_file": "i", "base_url": "ftp://h"}]}})"),
              ElementsAre(HasSubstr("collector.credentials[0].id_file: is missing"),
                          HasSubstr("collector.credentials[1].name: is given twice"),
                          HasSubstr("collector.credentials[1].vendor: must be naver"),
                          HasSubstr("collector.credentials[1].id_file: has no meaning"),
                          HasSubstr("collector.credentials[1].key_file: is missing"),
                          HasSubstr("collector.credentials[1].base_url: must be an http"),
                          HasSubstr("collector.allow[0]: must be HOST:PORT")));
  EXPECT_THAT(ParseLines(R"({"collector": {"credentials": [7, {"nmae": "a"}]}})"),
              ElementsAre(HasSubstr("collector.credentials[0]: must be an object"),
                          HasSubstr("collector.credentials[1].nmae: is unknown")));
}

TEST(CheckConfig, TheDefaultsAreGood) { EXPECT_THAT(CheckLines("{}"), IsEmpty()); }

TEST(CheckConfig, AllViolationsAreListed) {
  EXPECT_EQ(CheckLines(R"({"targets": ["x"], "listen": "x", "log": {"level": "loud"},
                           "postgres": {"read_connections": -1}, "peers": {"dedup": "y"}})")
                .size(),
            7u);  // and no shared store, and no shared broker
}

TEST(CheckConfig, TargetsAreKnownAndListedOnce) {
  EXPECT_THAT(CheckLines(R"({"targets": ["collector", "dedup", "newsfeed", "classification",
                                         "polling"]})"),
              IsEmpty());
  EXPECT_THAT(CheckLines(R"({"targets": ["all", "poling"]})"),
              ElementsAre(HasSubstr("targets[1]: must be all, collector, dedup, newsfeed"),
                          HasSubstr("targets: has \"all\" beside others")));
  EXPECT_THAT(CheckLines(R"({"targets": ["all", "all"]})"),
              ElementsAre(HasSubstr("targets[1]: is listed twice"), HasSubstr("beside others")));
}

TEST(CheckConfig, SomeTargetsNeedASharedStoreAndBrokerAndTheCollectorsAddress) {
  EXPECT_THAT(CheckLines(R"({"targets": ["dedup"]})"),
              ElementsAre(HasSubstr("postgres.url: must be postgres://"),
                          HasSubstr("events.url: must be amqp://"),
                          HasSubstr("peers.collector: is missing: dedup reads items")));
  EXPECT_THAT(CheckLines(R"({"targets": ["dedup"], "postgres": {"url": "postgres://u@h/d"},
                             "events": {"url": "amqp://h"}, "peers": {"collector": "c:7400"}})"),
              IsEmpty());
  EXPECT_THAT(CheckLines(R"({"targets": ["collector"], "events": {"url": "amqps://u@h/v"},
                             "postgres": {"url": "postgresql://u@h:5432/d?sslmode=require"}})"),
              IsEmpty());
  EXPECT_THAT(CheckLines(R"({"targets": ["collector", "newsfeed"], "events": {"url": "amqp://h"},
                             "postgres": {"url": "postgres://u@h/d?pooling=transaction"}})"),
              IsEmpty());
}

TEST(CheckConfig, BeyondLoopbackNeedsTlsOrInsecure) {
  for (const char* loopback : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:0"}) {
    EXPECT_THAT(CheckLines("{\"listen\": \"" + std::string(loopback) + "\"}"), IsEmpty());
  }
  for (const char* open : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "example.com:1"}) {
    const std::string listen = "\"listen\": \"" + std::string(open) + "\"";
    EXPECT_THAT(CheckLines("{" + listen + "}"),
                ElementsAre(AllOf(HasSubstr("listen: listens beyond this machine"),
                                  HasSubstr("--insecure"))));
    EXPECT_THAT(CheckLines("{" + listen + ", \"insecure\": true}"), IsEmpty());
    EXPECT_THAT(CheckLines("{" + listen + R"(, "tls": {"cert_file": "c", "key_file": "k"}})"),
                IsEmpty());
    // TLS is of the calls alone.
    EXPECT_THAT(CheckLines("{\"metrics\": {" + listen + R"(},
                              "tls": {"cert_file": "c", "key_file": "k"}})"),
                ElementsAre(HasSubstr("metrics.listen: is read in plain text beyond")));
    EXPECT_THAT(CheckLines("{\"metrics\": {" + listen + ", \"insecure\": true}}"), IsEmpty());
  }
}

TEST(CheckConfig, AddressesAreHostAndPort) {
  for (const char* bad : {"7400", ":7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:1",
                          "127.0.0.1:-1", "a b:1"}) {
    EXPECT_THAT(CheckLines("{\"listen\": \"" + std::string(bad) + "\"}"),
                ElementsAre(HasSubstr("listen: must be HOST:PORT")))
        << bad;
  }
  EXPECT_THAT(
      CheckLines(R"({"metrics": {"listen": "no"}})"),
      ElementsAre(AllOf(HasSubstr("metrics.listen: must be HOST:PORT"), HasSubstr("\"off\""))));
  EXPECT_THAT(CheckLines(R"({"metrics": {"listen": "off"}})"), IsEmpty());
  EXPECT_THAT(CheckLines(R"({"metrics": {"listen": "127.0.0.1:7400"}})"),
              ElementsAre(HasSubstr("metrics.listen: is the address of listen")));
  EXPECT_THAT(CheckLines(R"({"metrics": {"listen": "127.0.0.1:0"}, "listen": "127.0.0.1:0"})"),
              IsEmpty());
}

TEST(CheckConfig, PeersAreHostAndPortOrADnsName) {
  EXPECT_THAT(CheckLines(R"({"peers": {"collector": "c:1", "dedup": "dns:///d.x.svc:7400"}})"),
              IsEmpty());
  EXPECT_THAT(CheckLines(R"({"peers": {"collector": "c", "dedup": "d:0", "newsfeed": "x://n:1"}})"),
              ElementsAre(HasSubstr("peers.collector: must be HOST:PORT"),
                          HasSubstr("peers.dedup: must be HOST:PORT"),
                          HasSubstr("peers.newsfeed: must be HOST:PORT")));
}

TEST(CheckConfig, PeersAuthoritiesNeedPeers) {
  EXPECT_THAT(CheckLines(R"({"peers": {"ca_file": "ca.pem"}})"),
              ElementsAre(HasSubstr("peers.ca_file: has no meaning where all targets run")));
  EXPECT_THAT(CheckLines(R"({"targets": ["polling"], "postgres": {"url": "postgres://u@h/d"},
                             "events": {"url": "amqp://u@h/"}, "peers": {"ca_file": "ca.pem"}})"),
              IsEmpty());
}

TEST(CheckConfig, TlsFilesComeTogether) {
  EXPECT_THAT(CheckLines(R"({"tls": {"cert_file": "c"}})"), ElementsAre(HasSubstr("tls.key_file")));
  EXPECT_THAT(CheckLines(R"({"tls": {"key_file": "k"}})"), ElementsAre(HasSubstr("tls.cert_file")));
  EXPECT_THAT(CheckLines(R"({"tls": {"client_ca_file": "a"}})"),
              ElementsAre(HasSubstr("tls.client_ca_file: needs")));
  EXPECT_THAT(CheckLines(R"({"tls": {"cert_file": "c", "key_file": "k", "client_ca_file": "a"}})"),
              IsEmpty());
}

TEST(CheckConfig, ThePostgresUrlIsOneAndHoldsNoPassword) {
  const auto with_url = [](const std::string& url) {
    return CheckLines("{\"postgres\": {\"url\": \"" + url + "\"}}");
  };
  EXPECT_THAT(with_url("postgres://u@h:5432/d"), IsEmpty());
  EXPECT_THAT(with_url("mysql://h"), ElementsAre(HasSubstr("postgres.url: must be postgres-pri")));
  EXPECT_THAT(with_url("host=h"),
              ElementsAre(HasSubstr("postgres.url: must be postgres-private:")));
  EXPECT_THAT(with_url("postgres://u@[h/d"), ElementsAre(HasSubstr("postgres.url: ")));
  EXPECT_THAT(with_url("postgres://u@h/d?pooling=often"), ElementsAre(HasSubstr("pooling")));
  for (const char* url : {"postgres://u:hush@h/d", "postgres://u@h/d?password=hush"}) {
    EXPECT_THAT(with_url(url), ElementsAre(AllOf(HasSubstr("postgres.password_file"),
                                                 ::testing::Not(HasSubstr("hush")))));
  }
  EXPECT_THAT(CheckLines(R"({"postgres": {"password_file": "p"}})"),
              ElementsAre(HasSubstr("postgres.password_file: has no meaning")));
}

TEST(CheckConfig, TheEventsUrlIsOneAndHoldsNoPassword) {
  const auto with = [](const std::string& events) {
    return CheckLines("{\"events\": {" + events + "}}");
  };
  EXPECT_THAT(with(R"("url": "amqps://u@h:5671/v", "password_file": "p", "ca_file": "c")"),
              IsEmpty());
  EXPECT_THAT(with(R"("url": "kafka://h")"), ElementsAre(HasSubstr("events.url: must be inproc")));
  EXPECT_THAT(with(R"("url": "amqp://h:port/")"), ElementsAre(HasSubstr("events.url: ")));
  EXPECT_THAT(
      with(R"("url": "amqp://u:hush@h/v")"),
      ElementsAre(AllOf(HasSubstr("events.password_file"), ::testing::Not(HasSubstr("hush")))));
  EXPECT_THAT(with(R"("url": "amqp://h", "ca_file": "c")"),
              ElementsAre(HasSubstr("events.ca_file: has no meaning")));
  EXPECT_THAT(with(R"("password_file": "p", "ca_file": "c")"),
              ElementsAre(HasSubstr("events.password_file"), HasSubstr("events.ca_file")));
}

TEST(CheckConfig, APrivatePostgresNeedsADataDirectory) {
  Config config = Filled("{}");
  config.clear_data_dir();
  EXPECT_THAT(Lines(CheckConfig(config)), ElementsAre(HasSubstr("data_dir: has no default")));
}

TEST(CheckConfig, NumbersAreWithinTheirLimits) {
  const struct {
    const char* section;
    const char* field;
    int64_t least;
    int64_t most;
  } rules[] = {{"postgres", "read_connections", 1, 100},
               {"postgres", "write_connections", 1, 100},
               {"events", "max_deliveries", 1, 1'000},
               {"calls", "read_threads", 1, 256},
               {"calls", "write_threads", 1, 256},
               {"calls", "queue_limit", 1, 100'000},
               {"calls", "transport_memory_bytes", 128 << 20, int64_t{1} << 40},
               {"calls", "stream_memory_bytes", 1 << 20, int64_t{1} << 40},
               {"dedup", "max_documents", 1'000, 100'000'000}};
  for (const auto& [section, field, least, most] : rules) {
    const auto with = [section = section, field = field](int64_t value) {
      return CheckLines("{\"" + std::string(section) + "\": {\"" + field +
                        "\": " + std::to_string(value) + "}}");
    };
    EXPECT_THAT(with(least), IsEmpty()) << field;
    EXPECT_THAT(with(most), IsEmpty()) << field;
    const std::string path = std::string(section) + "." + field + ": must be ";
    EXPECT_THAT(with(most + 1), ElementsAre(HasSubstr(path)));
    EXPECT_THAT(with(-1), ElementsAre(HasSubstr(path)));
    // 0 is the default.
    EXPECT_THAT(with(least == 1 ? -5 : least - 1), ElementsAre(HasSubstr(path)));
  }
}

TEST(CheckConfig, DurationsAreWithinTheirLimits) {
  const struct {
    const char* section;
    const char* field;
    const char* least;
    const char* most;
    const char* too_little;
    const char* too_much;
  } rules[] = {{"calls", "default_deadline", "0.1s", "3600s", "0.099s", "3600.1s"},
               {"calls", "drain_delay", "0.001s", "60s", "-1s", "61s"},
               {"calls", "drain_timeout", "0.001s", "600s", "-0.5s", "601s"},
               {"calls", "ingest_idle_timeout", "1s", "3600s", "0.9s", "3601s"},
               {"dedup", "window", "60s", "2592000s", "59s", "2592001s"},
               {"newsfeed", "max_future", "0.001s", "86400s", "-1s", "86401s"},
               {"newsfeed", "stale_after", "60s", "604800s", "59.999s", "604801s"}};
  for (const auto& rule : rules) {
    const auto with = [&](const char* value) {
      return CheckLines("{\"" + std::string(rule.section) + "\": {\"" + rule.field + "\": \"" +
                        value + "\"}}");
    };
    EXPECT_THAT(with(rule.least), IsEmpty()) << rule.field;
    EXPECT_THAT(with(rule.most), IsEmpty()) << rule.field;
    const std::string path = std::string(rule.section) + "." + rule.field + ": must be ";
    EXPECT_THAT(with(rule.too_little), ElementsAre(HasSubstr(path)));
    EXPECT_THAT(with(rule.too_much), ElementsAre(AllOf(HasSubstr(path), HasSubstr(rule.too_much))));
  }
}

TEST(CheckConfig, ThresholdsAreFractionsAndTheFloorIsBelow) {
  EXPECT_THAT(CheckLines(R"({"dedup": {"token_threshold": 1}})"), IsEmpty());
  EXPECT_THAT(CheckLines(R"({"dedup": {"token_threshold": 0.1, "candidate_floor": 0.1}})"),
              IsEmpty());
  EXPECT_THAT(CheckLines(R"({"dedup": {"candidate_floor": 0.05}})"),
              ElementsAre(HasSubstr("dedup.candidate_floor: must be 0.1 to")))
      << "as UpdatePolicy";
  EXPECT_THAT(CheckLines(R"({"dedup": {"token_threshold": 1.01}})"),
              ElementsAre(HasSubstr("dedup.token_threshold")));
  EXPECT_THAT(CheckLines(R"({"dedup": {"candidate_floor": 0.9}})"),
              ElementsAre(HasSubstr("dedup.candidate_floor")));
  EXPECT_THAT(CheckLines(R"({"dedup": {"candidate_floor": -0.1}})"),
              ElementsAre(HasSubstr("dedup.candidate_floor")));
  Config config = Filled("{}");
  config.mutable_dedup()->set_token_threshold(std::nan(""));
  config.mutable_dedup()->set_candidate_floor(std::nan(""));
  EXPECT_EQ(Lines(CheckConfig(config)).size(), 2u);
}

TEST(CheckConfig, TheLogLevelIsKnown) {
  EXPECT_THAT(CheckLines(R"({"log": {"level": "loud"}})"),
              ElementsAre(HasSubstr("log.level: must be debug, info, warn or error")));
}

TEST(ConfigCheck, KnowsAnAddressOfRedis) {
  EXPECT_THAT(CheckLines(R"({"redis": {"url": "redis://cache:6379/1"}})"), IsEmpty());
  EXPECT_THAT(CheckLines(R"({"redis": {"url": "redis+unix:///run/r.sock?db=1"}})"), IsEmpty());
  EXPECT_THAT(
      CheckLines(R"({"redis": {"url": "memcached://x", "connections": 101}})"),
      ElementsAre(HasSubstr("redis.connections"), HasSubstr("redis.url: is not a Redis address")));
  EXPECT_THAT(CheckLines(R"({"redis": {"url": "redis://:secret@cache"}})"),
              ElementsAre(HasSubstr("redis.password_file")));
  EXPECT_THAT(CheckLines(R"({"redis": {"passwordFile": "/x"}})"),
              ElementsAre(HasSubstr("redis.password_file: has no meaning")));
}

}  // namespace
}  // namespace winnow
