#include "services/app/import/item_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "services/app/client/terminal.h"
#include "services/platform/base/timestamp.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::app {
namespace {

using collector::v1::Item;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Time kStart{std::chrono::sys_days(std::chrono::year(2026) / 2 / 1)};

class ItemParserTest : public testing::Test {
 protected:
  Item Accepted(std::string_view line) {
    auto parsed = parser_.Parse(line);
    if (auto* refusal = std::get_if<Refusal>(&parsed)) {
      ADD_FAILURE() << refusal->detail;
      return {};
    }
    return std::get<Item>(parsed);
  }
  Refusal Refused(std::string_view line) {
    auto parsed = parser_.Parse(line);
    if (auto* refusal = std::get_if<Refusal>(&parsed)) return *refusal;
    ADD_FAILURE() << "was accepted: " << line;
    return {};
  }

  ItemParser parser_{"demo", kStart};
};

TEST_F(ItemParserTest, MapsEveryField) {
  const Item item = Accepted(R"({"url":"https://a.example/1","title":"제목","snippet":"lead",
      "channel":"bada","channel_name":"바다뉴스","categories":["ai","energy"],
      "published_at":"2026-02-01T07:00:00.000Z","external_id":"x-1","language":"ko",
      "image_url":"https://a.example/i.png","video_url":"https://a.example/v","keywords":["k"],
      "ai_tags":["t"],"channel_icon_url":"https://a.example/icon.png"})");
  EXPECT_EQ(item.namespace_(), "demo");
  EXPECT_EQ(item.url(), "https://a.example/1");
  EXPECT_EQ(item.title(), "제목");
  EXPECT_EQ(item.snippet(), "lead");
  EXPECT_EQ(item.channel(), "bada");
  EXPECT_EQ(item.channel_name(), "바다뉴스");
  EXPECT_THAT(item.source_categories(), ElementsAre("ai", "energy"));
  EXPECT_THAT(item.keywords(), ElementsAre("k"));
  EXPECT_THAT(item.ai_tags(), ElementsAre("t"));
  EXPECT_EQ(item.channel_icon_url(), "https://a.example/icon.png");
  EXPECT_EQ(item.external_id(), "x-1");
  EXPECT_EQ(item.language(), "ko");
  EXPECT_EQ(item.image_url(), "https://a.example/i.png");
  EXPECT_EQ(item.video_url(), "https://a.example/v");
  EXPECT_EQ(FormatTime(*FromTimestamp(item.publish_time())), "2026-02-01T07:00:00Z");
  EXPECT_EQ(FormatTime(*FromTimestamp(item.arrival_time())), "2026-02-01T07:00:00Z");
}

TEST_F(ItemParserTest, LeavesOutWhatIsNullOrUnknown) {
  const Item item =
      Accepted(R"({"title":"t","snippet":null,"published_at":null,"score":1.5,"nested":{"a":[]}})");
  EXPECT_EQ(item.title(), "t");
  EXPECT_EQ(item.snippet(), "");
  EXPECT_FALSE(item.has_publish_time());
  EXPECT_FALSE(item.has_arrival_time());
}

TEST_F(ItemParserTest, TakesRelativeTimesFromTheBeginningOfTheImport) {
  const auto time = [&](const std::string& text) {
    return FormatTime(
        *FromTimestamp(Accepted(R"({"published_at":")" + text + R"("})").publish_time()));
  };
  EXPECT_EQ(time("-90m"), "2026-01-31T22:30:00Z");
  EXPECT_EQ(time("-1d2h3m4s"), "2026-01-30T21:56:56Z");
  EXPECT_EQ(time("-0s"), "2026-02-01T00:00:00Z");
}

TEST_F(ItemParserTest, TakesTheFirstAndTheLastYear) {
  EXPECT_EQ(Accepted(R"({"published_at":"0001-01-01T00:00:00Z"})").publish_time().seconds(),
            -62'135'596'800);
  EXPECT_EQ(Accepted(R"({"published_at":"9999-12-31T23:59:59Z"})").publish_time().seconds(),
            253'402'300'799);
}

TEST_F(ItemParserTest, RefusesTimesByName) {
  for (const char* text : {"yesterday", "-", "-5", "-5w", "--5m", "-99999999999d",
                           "10000-01-01T00:00:00Z", "2026-02-30T00:00:00Z"}) {
    const Refusal refusal = Refused(std::string(R"({"published_at":")") + text + R"("})");
    EXPECT_EQ(refusal.reason, "published_at") << text;
    EXPECT_THAT(refusal.detail, HasSubstr("must be a time such as"));
  }
  EXPECT_EQ(Refused(R"({"published_at":1770000000})").detail, "published_at: must be a text");
}

TEST_F(ItemParserTest, RefusesMistypedFieldsByName) {
  EXPECT_EQ(Refused(R"({"title":7})").detail, "title: must be a text");
  EXPECT_EQ(Refused(R"({"url":["a"]})").reason, "url");
  EXPECT_EQ(Refused(R"({"categories":"ai"})").detail, "categories: must be a list of texts");
  EXPECT_EQ(Refused(R"({"categories":["ai",3]})").reason, "categories");
}

TEST_F(ItemParserTest, RefusesWhatIsNoJsonObject) {
  for (const char* line : {"plain text", "{", "[1,2]", "7", "\"text\"", R"({"a":1} {"b":2})",
                           R"({"title":"\ud800"})", "{\"title\":\"a\nb\"}"}) {
    EXPECT_EQ(Refused(line).reason, "not JSON") << line;
  }
  EXPECT_EQ(Refused(std::string(100'000, '[')).reason, "not JSON");
}

TEST_F(ItemParserTest, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(Refused("{\"title\":\"\xc3\x28\"}").reason, "not UTF-8");
  EXPECT_EQ(Refused("{\"title\":\"\xb0\xa1\xb3\xaa\"}").reason, "not UTF-8");  // EUC-KR
}

TEST_F(ItemParserTest, GoesOnAfterARefusal) {
  Refused("{");
  EXPECT_EQ(Accepted(R"({"title":"next"})").title(), "next");
}

TEST(Terminal, KeepsOthersFromSteeringIt) {
  EXPECT_EQ(Printable("a\x1b[2Jb\r\nc\td\x7f"), "a [2Jb  c d ");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "2Jb"),
            "a 2Jb");
  EXPECT_EQ(Printable("café 한강"), "café 한강");
  EXPECT_EQ(Printable("x\xffy"), "x\xef\xbf\xbdy");
}

TEST(Terminal, GroupsDigits) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(16'985), "16,985");
  EXPECT_EQ(WithCommas(-1'234'567), "-1,234,567");
}

}  // namespace
}  // namespace winnow::app
