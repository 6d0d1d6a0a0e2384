#include "tests/unit/platform/config/config_test.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "services/platform/process/secret_file.h"

namespace winnow {
namespace {

using config::v1::Config;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseConfig, FieldsAreReadByEitherName) {
  const auto config = ParseConfig(R"({
    "targets": ["all"], "data_dir": "/d", "insecure": true,
    "calls": {"defaultDeadline": "2.5s", "readThreads": 3},
    "dedup": {"tokenThreshold": 0.75, "max_documents": 5000},
    "log": null, "collector": {}
  })",
                                  "w.json");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->data_dir(), "/d");
  EXPECT_TRUE(config->insecure());
  EXPECT_EQ(config->calls().default_deadline().seconds(), 2);
  EXPECT_EQ(config->calls().default_deadline().nanos(), 500'000'000);
  EXPECT_EQ(config->calls().read_threads(), 3);
  EXPECT_EQ(config->dedup().token_threshold(), 0.75);
  EXPECT_EQ(config->dedup().max_documents(), 5000);
  EXPECT_FALSE(config->has_log());
}

TEST(ParseConfig, AllViolationsAreListedWithPathAndPlace) {
  EXPECT_THAT(ParseLines("{\n"
                         "  \"listn\": \"x\",\n"
                         "  \"postgres\": {\"url\": 5, \"conections\": 1, \"url\": \"y\"},\n"
                         "  \"calls\": {\"default_deadline\": \"soon\"},\n"
                         "  \"targets\": [\"all\", 7]\n"
                         "}"),
              ElementsAre(AllOf(HasSubstr("listn: is unknown: there are targets, listen"),
                                HasSubstr("(w.json:2:3)")),
                          "postgres.url: must be a string, not a number (w.json:3:23)",
                          HasSubstr("postgres.conections: is unknown: there are url, "),
                          "postgres.url: is given twice: keep one (w.json:3:43)",
                          "calls.default_deadline: must be a string of seconds such as \"10s\" or "
                          "\"0.5s\" (w.json:4:33)",
                          "targets[1]: must be a string, not a number (w.json:5:22)"));
}

TEST(ParseConfig, WhatCanBeReadIsReadBesideViolations) {
  Violations violations;
  const auto config = ParseConfig(R"({"listn": "x", "listen": 7, "log": {"level": "loud"}})",
                                  "w.json", &violations);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(violations.size(), 2u);
  EXPECT_EQ(config->log().level(), "loud");
  EXPECT_EQ(config->listen(), "");
}

TEST(ParseConfig, ANameAndItsJsonNameAreTheSameField) {
  EXPECT_THAT(ParseLines(R"({"dataDir": "/a", "data_dir": "/b"})"),
              ElementsAre(HasSubstr("data_dir: is given twice")));
}

TEST(ParseConfig, WrongTypesAreRefused) {
  EXPECT_THAT(ParseLines(R"({"targets": "all"})"),
              ElementsAre(HasSubstr("targets: must be a list [...], not a string")));
  EXPECT_THAT(ParseLines(R"({"postgres": "x"})"),
              ElementsAre(HasSubstr("postgres: must be an object {...}, not a string")));
  EXPECT_THAT(ParseLines(R"({"insecure": "true"})"),
              ElementsAre(HasSubstr("insecure: must be true or false, not a string")));
  EXPECT_THAT(
      ParseLines(R"({"calls": {"read_threads": 1.5}})"),
      ElementsAre(HasSubstr("calls.read_threads: must be a whole number of at most 32 bits (w")));
  EXPECT_THAT(ParseLines(R"({"calls": {"read_threads": "4"}})"),
              ElementsAre(HasSubstr(
                  "calls.read_threads: must be a whole number of at most 32 bits, not a")));
  EXPECT_THAT(ParseLines(R"({"calls": {"read_threads": 99999999999}})"),
              ElementsAre(HasSubstr("calls.read_threads: must be a whole number")));
  EXPECT_THAT(ParseLines(R"({"calls": {"drain_delay": 5}})"),
              ElementsAre(HasSubstr("calls.drain_delay: must be a string of seconds")));
  EXPECT_THAT(ParseLines(R"({"dedup": {"token_threshold": "NaN"}})"),
              ElementsAre(HasSubstr("dedup.token_threshold: must be a number, not a string")));
  EXPECT_THAT(ParseLines(R"({"targets": [null]})"), ElementsAre(HasSubstr("targets[0]: must be")));
}

TEST(ParseConfig, LongNumbersMayStandInQuotes) {
  EXPECT_EQ(ParseConfig(R"({"dedup": {"max_documents": "5000"}})", "f")->dedup().max_documents(),
            5000);
  EXPECT_THAT(
      ParseLines(R"({"dedup": {"max_documents": "many"}})"),
      ElementsAre(HasSubstr("dedup.max_documents: must be a whole number of at most 64 bits (w")));
}

TEST(ParseConfig, TextsThatAreNoObjectAreRefused) {
  EXPECT_THAT(ParseLines(""), ElementsAre(HasSubstr("w.json is empty: write {}")));
  EXPECT_THAT(ParseLines(" \n"), ElementsAre(HasSubstr("w.json is empty")));
  EXPECT_THAT(ParseLines("[]"), ElementsAre(HasSubstr("w.json:1:1: must be an object")));
  EXPECT_THAT(ParseLines("{\"a\""), ElementsAre(HasSubstr("w.json:1:5: a colon is missing")));
  EXPECT_TRUE(ParseConfig("\xEF\xBB\xBF{}", "w.json").ok());
}

TEST(ParseConfig, WhatProtobufWritesIsReadBack) {
  Config config = Filled("{}");
  config.mutable_tls()->set_cert_file("/c");
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  for (const bool names : {false, true}) {
    options.preserve_proto_field_names = names;
    json.clear();
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(config, &json, options).ok());
    const auto read = ParseConfig(json, "w.json");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, config)) << json;
  }
}

TEST(ParseConfig, WhatProtobufRefusesIsRefused) {
  static const std::vector<std::string> kPieces = {"\"targets\":[\"all\"]",
                                                   "\"calls\":{\"readThreads\":3}",
                                                   "\"calls\":{\"drain_delay\":\"1s\"}",
                                                   "\"insecure\":true",
                                                   "\"dedup\":{\"window\":\"60s\"}",
                                                   "\"dedup\":{\"windows\":1}",
                                                   "\"x\":1",
                                                   "\"log\":{}",
                                                   "\"log\":null",
                                                   "\"events\":{\"max_deliveries\":1e3}",
                                                   "\"listen\":5"};
  std::mt19937_64 random(10);
  for (int i = 0; i < 2'000; ++i) {
    std::string json = "{";
    for (size_t n = random() % 4; n > 0; --n) {
      json += kPieces[random() % kPieces.size()] + (n > 1 ? "," : "");
    }
    json += "}";
    const auto ours = ParseConfig(json, "w.json");
    Config theirs;
    const bool ok = google::protobuf::util::JsonStringToMessage(json, &theirs).ok();
    if (!ours.ok()) continue;  // stricter: repeated fields, numbers in quotes
    ASSERT_TRUE(ok) << json;
    ASSERT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*ours, theirs)) << json;
  }
}

TEST(ConfigFile, IsReadAndNamedInErrors) {
  const TempDir dir;
  const std::string good = dir.Write("good.json", R"({"listen": "127.0.0.1:0"})");
  EXPECT_EQ(ReadConfigFile(good)->listen(), "127.0.0.1:0");
  const std::string bad = dir.Write("bad.json", "{\"x\": 1}");
  EXPECT_THAT(Lines(ReadConfigFile(bad).status()), ElementsAre(HasSubstr(bad + ":1:2")));
  EXPECT_THAT(Lines(ReadConfigFile(dir.path() / "none.json").status()),
              ElementsAre(AllOf(HasSubstr("none.json"), HasSubstr("No such file"))));
  EXPECT_THAT(Lines(ReadConfigFile(dir.path()).status()), ElementsAre(HasSubstr("cannot be read")));
  const std::string huge = dir.Write("huge.json", std::string(2'000'000, ' '));
  EXPECT_THAT(Lines(ReadConfigFile(huge).status()), ElementsAre(HasSubstr("larger than 1024 KiB")));
}

TEST(SecretFile, LosesOneLineBreakAndNothingElse) {
  const TempDir dir;
  EXPECT_EQ(*ReadSecretFile(dir.Write("a", "s3cret"), "f"), "s3cret");
  EXPECT_EQ(*ReadSecretFile(dir.Write("a", "s3cret\n"), "f"), "s3cret");
  EXPECT_EQ(*ReadSecretFile(dir.Write("a", "s3cret\r\n"), "f"), "s3cret");
  EXPECT_EQ(*ReadSecretFile(dir.Write("a", " s3cret \n\n"), "f"), " s3cret \n");
}

TEST(SecretFile, ErrorsNameTheFieldAndThePathAndNeverTheText) {
  const TempDir dir;
  EXPECT_THAT(Lines(ReadSecretFile(dir.path() / "none", "postgres.password_file").status()),
              ElementsAre(AllOf(HasSubstr("postgres.password_file: the file "), HasSubstr("/none"),
                                HasSubstr("No such file"))));
  EXPECT_THAT(Lines(ReadSecretFile(dir.Write("a", "\n"), "f").status()),
              ElementsAre(HasSubstr("is empty")));
  EXPECT_THAT(
      Lines(ReadSecretFile(dir.Write("a", std::string(70'000, 's')), "f").status()),
      ElementsAre(AllOf(HasSubstr("larger than 64 KiB"), ::testing::Not(HasSubstr("sss")))));
}

}  // namespace
}  // namespace winnow
