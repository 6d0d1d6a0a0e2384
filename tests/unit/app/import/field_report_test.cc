#include "services/app/import/field_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "services/app/import/item_parser.h"

namespace winnow::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class FieldsOfLines : public testing::Test {
 protected:
  // The name of the channel that the line's item has.
  std::string ChannelName(std::string_view line) {
    const auto parsed = parser_.Parse(line);
    if (const auto* refusal = std::get_if<Refusal>(&parsed)) return "refused: " + refusal->detail;
    return std::get<collector::v1::Item>(parsed).channel_name();
  }

  ItemParser parser_{"demo", Time()};
};

TEST_F(FieldsOfLines, SourceNameIsTakenAsChannelName) {
  EXPECT_EQ(ChannelName(R"({"title":"t","source_name":"바다뉴스"})"), "바다뉴스");
  EXPECT_EQ(ChannelName(R"({"source_name":"바다뉴스","channel_name":""})"), "바다뉴스");
  EXPECT_EQ(ChannelName(R"({"channel_name":null,"source_name":"b"})"), "b");
  EXPECT_THAT(parser_.fields().TakeNotes(), ElementsAre("source_name is taken as channel_name"));
  EXPECT_THAT(parser_.fields().Summary(),
              ElementsAre("source_name was taken as channel_name in 3 lines"));
}

TEST_F(FieldsOfLines, ChannelNameWinsOverSourceNameInAnyOrder) {
  EXPECT_EQ(ChannelName(R"({"source_name":"a","channel_name":"b"})"), "b");
  EXPECT_EQ(ChannelName(R"({"channel_name":"b","source_name":"a"})"), "b");
  EXPECT_THAT(parser_.fields().Summary(),
              ElementsAre("source_name was ignored in 2 lines with channel_name"));
}

TEST_F(FieldsOfLines, ASourceNameThatIsNoTextLosesNoItem) {
  EXPECT_EQ(ChannelName(R"({"source_name":null})"), "");
  EXPECT_THAT(parser_.fields().Summary(), IsEmpty());
  EXPECT_EQ(ChannelName(R"({"source_name":{"ko":"a"}})"), "");
  EXPECT_THAT(parser_.fields().unknown(), Contains(testing::Key("source_name")));
}

TEST_F(FieldsOfLines, UnknownOnesAreCountedByName) {
  for (int i = 0; i < 3; ++i)
    ChannelName(R"({"titel":"t","score":1.5,"title":null,"image_url":null})");
  EXPECT_EQ(parser_.fields().unknown().at("titel").count, 3);
  EXPECT_THAT(parser_.fields().TakeNotes(),
              ElementsAre("unknown field titel is ignored (did you mean title?)",
                          "unknown field score is ignored"));
  EXPECT_THAT(parser_.fields().TakeNotes(), IsEmpty());
  EXPECT_THAT(parser_.fields().Summary(),
              ElementsAre("unknown field score was ignored in 3 lines",
                          "unknown field titel was ignored in 3 lines (did you mean title?)"));
}

TEST_F(FieldsOfLines, NamesWithoutEndAreCountedTogether) {
  for (int i = 0; i < 1'000; ++i) {
    ChannelName("{\"" + std::string(500, 'x') + std::to_string(i) + "\":1,\"f" + std::to_string(i) +
                "\":1}");
  }
  EXPECT_EQ(parser_.fields().unknown().size(), FieldReport::kMaxNames);
  EXPECT_LT(parser_.fields().unknown().rbegin()->first.size(), 70U);
  EXPECT_EQ(parser_.fields().others(), 2'000 - 1'000 - 49);  // the long ones are cut to one
}

TEST_F(FieldsOfLines, NamesDoNotSteerATerminal) {
  ChannelName("{\"a\\u001b[2Jb\":1}");
  EXPECT_THAT(parser_.fields().TakeNotes(), ElementsAre("unknown field a [2Jb is ignored"));
}

TEST(SuggestField, KnowsCommonNamesAndSpellings) {
  for (const auto& [name, field] : std::initializer_list<std::pair<const char*, const char*>>{
           {"description", "snippet"},
           {"pubDate", "published_at"},
           {"publishedAt", "published_at"},
           {"imageUrl", "image_url"},
           {"chanel_name", "channel_name"},
           {"link", "url"},
           {"uri", "url"},
           {"keyword", "keywords"},
           {"source_id", "channel"},
           {"score", ""},
           {"x", ""},
           {"", ""},
           {"sentiment", ""},
       }) {
    EXPECT_EQ(SuggestField(name), field) << name;
  }
}

}  // namespace
}  // namespace winnow::app
