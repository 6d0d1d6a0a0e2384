#include "services/platform/base/format/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>

namespace winnow {
namespace {

using ::testing::HasSubstr;
using Kind = JsonValue::Kind;

std::string ErrorOf(std::string_view text) {
  const auto value = ParseJson(text, "f.json");
  return value.ok() ? "" : Message(value.status());
}

TEST(JsonTree, ValuesKeepTheirSpelling) {
  const std::string text = R"( {"a": 1.50, "a": [true, null, "x\u00e9"], "b\n\ud83d\ude00": {}} )";
  const auto root = ParseJson(text, "f");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_EQ(root->kind, Kind::kObject);
  ASSERT_EQ(root->members.size(), 3u);
  EXPECT_EQ(root->members[0].name, "a");
  EXPECT_EQ(root->members[0].raw, "\"a\"");
  EXPECT_EQ(root->members[0].value.raw, "1.50");
  const JsonValue& list = root->members[1].value;
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(list.items[0].kind, Kind::kBool);
  EXPECT_EQ(list.items[1].kind, Kind::kNull);
  EXPECT_EQ(list.items[2].raw, "\"x\\u00e9\"");
  EXPECT_EQ(root->members[2].name, "b\n😀");
  EXPECT_EQ(root->members[2].value.kind, Kind::kObject);
}

TEST(JsonTree, ErrorsNameLineAndColumn) {
  EXPECT_EQ(ErrorOf("{\n  \"a\": 1\n  \"b\": 2\n}"),
            "f.json:3:3: a comma or the object's closing brace is missing");
  EXPECT_THAT(ErrorOf("{\"한글\": }"), HasSubstr("f.json:1:8: "));  // columns are characters
  EXPECT_THAT(ErrorOf("{\n\"a\xFF\": 1}"), HasSubstr("f.json:2:3: the text is not UTF-8"));
}

TEST(JsonTree, EachMistakeIsNamed) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("a value is missing"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("field's name"));
  EXPECT_THAT(ErrorOf("{\"a\"}"), HasSubstr("colon"));
  EXPECT_THAT(ErrorOf("{\"a\":}"), HasSubstr("a value is missing"));
  EXPECT_THAT(ErrorOf("{\"a\":1,}"), HasSubstr("comma"));
  EXPECT_THAT(ErrorOf("[1,]"), HasSubstr("comma"));
  EXPECT_THAT(ErrorOf("[1 2]"), HasSubstr("comma"));
  EXPECT_THAT(ErrorOf("{a:1}"), HasSubstr("double quotes"));
  EXPECT_THAT(ErrorOf("{'a':1}"), HasSubstr("double quotes"));
  EXPECT_THAT(ErrorOf("[yes]"), HasSubstr("double quotes"));
  EXPECT_THAT(ErrorOf("[tru]"), HasSubstr("double quotes"));
  EXPECT_THAT(ErrorOf("// c\n{}"), HasSubstr("comments"));
  EXPECT_THAT(ErrorOf("{} {}"), HasSubstr("nothing may follow"));
  EXPECT_THAT(ErrorOf("\"abc"), HasSubstr("closing quote"));
  EXPECT_THAT(ErrorOf("\"a\nb\""), HasSubstr("closing quote"));
  EXPECT_THAT(ErrorOf("\"C:\\data\""), HasSubstr("backslash"));
  EXPECT_THAT(ErrorOf("\"\\"), HasSubstr("backslash"));
  EXPECT_THAT(ErrorOf("\"\\u12\""), HasSubstr("hexadecimal"));
  EXPECT_THAT(ErrorOf("\"\\ud800\""), HasSubstr("surrogate"));
  EXPECT_THAT(ErrorOf("\"\\udc00\""), HasSubstr("surrogate"));
  EXPECT_THAT(ErrorOf("01"), HasSubstr("begin with 0"));
  EXPECT_THAT(ErrorOf("1."), HasSubstr("decimal point"));
  EXPECT_THAT(ErrorOf("1e"), HasSubstr("exponent"));
  EXPECT_NE(ErrorOf("-"), "");
  EXPECT_NE(ErrorOf(".5"), "");
}

TEST(JsonTree, NestingIsBounded) {
  EXPECT_EQ(ErrorOf(std::string(30, '[') + std::string(30, ']')), "");
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), HasSubstr("32 deep"));
}

// Against simdjson: both take the same texts.
TEST(JsonTree, TakesWhatAnotherParserTakes) {
  static const std::vector<std::string> pieces = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "\"a\"",
                                                  "\"b\"",
                                                  "1",
                                                  "-0.5e+2",
                                                  "01",
                                                  "true",
                                                  "null",
                                                  " ",
                                                  "\"\\u00e9\"",
                                                  "\"\\ud83d\\ude00\"",
                                                  "\"\\n\"",
                                                  "\"",
                                                  "\\",
                                                  "\n",
                                                  "\"한\"",
                                                  "\xFF",
                                                  "x"};
  std::mt19937_64 random(9);
  simdjson::dom::parser other;
  int valid = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::string text = random() % 2 == 0 ? "[" : "{\"k\":";
    for (size_t n = random() % 8; n > 0; --n) text += pieces[random() % pieces.size()];
    text += text[0] == '[' ? "]" : "}";
    simdjson::dom::element element;
    const bool expected = other.parse(simdjson::padded_string(text)).get(element) == 0;
    ASSERT_EQ(ParseJson(text, "f").ok(), expected) << text;
    valid += expected ? 1 : 0;
  }
  EXPECT_GT(valid, 500);
}

}  // namespace
}  // namespace winnow
