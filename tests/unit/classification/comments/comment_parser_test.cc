#include "services/classification/comments/comment_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/classification/api/convert.h"
#include "services/classification/comments/csv_reader.h"
#include "services/classification/policy/policy.h"

namespace winnow::classification {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  ParseReport report;
  std::vector<Comment> comments;
  Status status;

  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const Comment& comment : comments) ids.push_back(comment.id);
    return ids;
  }
};

Parsed Parse(std::string_view bytes) {
  Parsed parsed;
  auto report = ParseComments(bytes, "raw", [&](Comment comment) {
    parsed.comments.push_back(std::move(comment));
    return OkStatus();
  });
  parsed.status = report.status();
  if (report.ok()) parsed.report = *std::move(report);
  return parsed;
}

constexpr const char* kThread = R"({
  "kind": "youtube#commentThread", "id": "UgxAAAAAAAAAAAAAAAAAAAAABB",
  "snippet": {"videoId": "v", "topLevelComment": {"id": "UgxAAAAAAAAAAAAAAAAAAAAABB",
    "snippet": {"textDisplay": "a &amp; b<br>c", "textOriginal": "a & b\nc", "likeCount": 3,
      "publishedAt": "2024-05-01T12:00:00Z", "updatedAt": "2024-05-02T12:00:00Z"}},
    "totalReplyCount": 7},
  "replies": {"comments": [{"id": "UgxAAAAAAAAAAAAAAAAAAAAABB.9abcdefghijklmnopqrstu",
    "snippet": {"textDisplay": "only &lt;html&gt;", "parentId": "UgxAAAAAAAAAAAAAAAAAAAAABB"}}]}})";

TEST(ParseComments, ReadsAYouTubePage) {
  const Parsed parsed =
      Parse("{\"items\": [" + std::string(kThread) + "], \"nextPageToken\": \"x\"}");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  EXPECT_EQ(parsed.report.shape, Shape::kYouTubeApi);
  EXPECT_EQ(parsed.report.missing_replies, 6);
  ASSERT_EQ(parsed.comments.size(), 2u);
  EXPECT_EQ(parsed.comments[0].text, "a & b\nc");
  EXPECT_EQ(parsed.comments[0].publish_time, ParseRawTime("2024-05-01T12:00:00Z"));
  EXPECT_EQ(parsed.comments[1].text, "only <html>");
  EXPECT_EQ(parsed.comments[1].parent_id, "UgxAAAAAAAAAAAAAAAAAAAAABB");
  EXPECT_EQ(parsed.comments[1].alias, "9abcdefghijklmnopqrstu");
}

TEST(ParseComments, ReadsListsOfPagesAndMergedItems) {
  const std::string page = "{\"items\": [" + std::string(kThread) + "]}";
  EXPECT_EQ(Parse("[" + page + "," + page + "]").comments.size(), 4u);
  EXPECT_EQ(Parse("[" + std::string(kThread) + "]").comments.size(), 2u);
  EXPECT_EQ(Parse(R"([{"topLevelComment": {"id": "a", "snippet": {"textOriginal": "x"}},
                       "replies": {"comments": []}}])")
                .ids(),
            std::vector<std::string>{"a"});
  EXPECT_TRUE(Parse("{\"items\": []}").status.ok());
}

TEST(ParseComments, ReadsNestedComments) {
  const Parsed parsed = Parse(R"([{"comment_id": "z12a", "author_id": null, "content": "hi",
      "replies": [{"comment_id": "z12a.b", "content": "re"}]},
      {"comment_id": "_c", "content": 5}])");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  EXPECT_EQ(parsed.report.shape, Shape::kNested);
  EXPECT_THAT(parsed.ids(), ElementsAre("z12a", "z12a.b", "_c"));
}

TEST(ParseComments, ReadsJsonl) {
  const Parsed parsed = Parse(
      "{\"cid\":\"Ug1\",\"text\":\"hi\",\"votes\":\"1\",\"reply\":false}\n"
      "{\"cid\":\"Ug1.r\",\"text\":\"re\",\"votes\":\"0\",\"reply\":true,\"time_parsed\":"
      "1700000000}\n");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  EXPECT_EQ(parsed.report.shape, Shape::kJsonl);
  EXPECT_THAT(parsed.ids(), ElementsAre("Ug1", "Ug1.r"));
  EXPECT_EQ(parsed.comments[1].parent_id, "Ug1");
  EXPECT_TRUE(parsed.comments[1].publish_time.has_value());
}

TEST(ParseComments, ReadsFlatRows) {
  const Parsed parsed = Parse(
      R"([{"id":"a","videoId":"v","parentId":null,"text":"x"},
          {"id":"b","videoId":"v","parentId":"a","text":"y"}])");
  EXPECT_EQ(parsed.report.shape, Shape::kFlat);
  ASSERT_EQ(parsed.comments.size(), 2u);
  EXPECT_EQ(parsed.comments[1].parent_id, "a");
}

TEST(ParseComments, ReadsCsv) {
  const Parsed parsed = Parse(
      "\xEF\xBB\xBF"
      "COMMENT_ID,AUTHOR,DATE,CONTENT,CLASS\r\n"
      "LZQ1,Anna,2013-11-07T06:20:48,\"a, \"\"b\"\"\nc\",1\r\n"
      "LZQ2,,,plain,0\r\n");
  ASSERT_TRUE(parsed.status.ok()) << parsed.status;
  EXPECT_EQ(parsed.report.shape, Shape::kCsv);
  ASSERT_EQ(parsed.comments.size(), 2u);
  EXPECT_EQ(parsed.comments[0].text, "a, \"b\"\nc");
  EXPECT_TRUE(parsed.comments[0].publish_time.has_value());
  EXPECT_FALSE(parsed.comments[1].publish_time.has_value());
}

TEST(ParseComments, TellsWhatItSkips) {
  const Parsed parsed = Parse(R"([{"id":"_metadata","text":"x"},{"id":"a b","text":"x"},
      {"id":"c","text":""},{"text":"x"},{"id":"ok","text":"x"}])");
  EXPECT_EQ(parsed.report.skipped_count, 4);
  ASSERT_EQ(parsed.report.skipped.size(), 4u);
  EXPECT_THAT(parsed.report.skipped[0].why, HasSubstr("_metadata"));
  EXPECT_EQ(parsed.report.skipped[2].position, 2);
  EXPECT_THAT(parsed.ids(), ElementsAre("ok"));
}

TEST(ParseComments, RefusesWhatIsNoKnownShape) {
  for (const char* text : {"", "  ", "hello", "[1,2]", "{\"a\":1}",
                           "[{\"id\":\"a\",\"text\":\"x\"}", "A,B,C,D\n1,2,3,4"}) {
    const Parsed parsed = Parse(text);
    EXPECT_EQ(parsed.status.code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseComments, StopsWhenItsTakerFails) {
  const auto report = ParseComments(R"([{"id":"a","text":"x"}])", "raw",
                                    [](Comment) { return FailedPrecondition("no"); });
  EXPECT_EQ(report.status().code(), StatusCode::kFailedPrecondition);
}

TEST(RawTime, KnowsOffsetsAndFractions) {
  EXPECT_EQ(ParseRawTime("1970-01-01T00:00:01.5Z"), Time(Micros(1'500'000)));
  EXPECT_EQ(ParseRawTime("1970-01-01T09:00:00+09:00"), Time(Micros(0)));
  EXPECT_EQ(ParseRawTime("1700000000"), Time(Micros(1'700'000'000'000'000)));
  for (const char* text : {"", "2 years ago", "2024-13-01T00:00:00Z", "2024-01-01"}) {
    EXPECT_EQ(ParseRawTime(text), std::nullopt) << text;
  }
}

TEST(DefaultPolicy, IsValidAndDecidesByEveryHead) {
  Policy policy = DefaultPolicy();
  Violations violations;
  CheckPolicy(policy, "policy.", violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(policy.heads.size(), EmbeddedModel().heads().size());
}

TEST(CheckPolicy, NamesEveryField) {
  Policy policy{.name = "No Name"};
  policy.heads = {{"nobody", 0, CommentStatus::kNone, "Bad Reason"}};
  policy.texts = {{"", CommentStatus::kFiltered, ""}};
  policy.max_failed_share = 2;
  Violations violations;
  CheckPolicy(policy, "policy.", violations);
  EXPECT_EQ(violations.size(), 7u);
  EXPECT_EQ(policy.texts[0].reason, "text_rule");
}

TEST(Decider, TextRulesStandAboveHeads) {
  Policy policy = DefaultPolicy();
  policy.texts = {{"ＢＵＹ now", CommentStatus::kFiltered, "ad"}};
  const Decider decider(EmbeddedModel(), policy);
  const auto decision = decider.Decide("please buy   NOW");
  EXPECT_EQ(decision.outcome.status, CommentStatus::kFiltered);
  EXPECT_EQ(decision.outcome.source, Source::kRule);
  EXPECT_EQ(decision.outcome.reason, "ad");
  EXPECT_EQ(decider.Decide("오늘도 잘 봤습니다 좋은 하루 되세요").outcome.status,
            CommentStatus::kNormal);
  EXPECT_EQ(decider.Decide("다음에는 캠핑 영상도 올려주세요").outcome.status,
            CommentStatus::kSuggestion);
}

TEST(Convert, KeepsAPolicyThroughItsStoredBody) {
  Policy policy = DefaultPolicy();
  policy.texts = {{"x", CommentStatus::kNormal, ""}};
  policy.max_failed_share = 0.25;
  const auto back = FromBody("default", 1, ToBody(policy));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(ToBody(*back), ToBody(policy));
}

TEST(Convert, ReadsTheListsOfAnAgent) {
  Violations violations;
  const auto verdicts =
      FromLists(R"({"normal":["a","b"],"filtered":["c"],"content_suggestion":[],"note":{"x":1}})",
                violations);
  EXPECT_TRUE(violations.empty());
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[2].status(), v1::COMMENT_STATUS_FILTERED);
  FromLists("{\"normal\":[1]}", violations);
  FromLists("[]", violations);
  FromLists("{} {}", violations);
  EXPECT_EQ(violations.size(), 3u);
}

}  // namespace
}  // namespace winnow::classification
