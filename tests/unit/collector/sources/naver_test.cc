#include "services/collector/sources/naver.h"

#include <gtest/gtest.h>

#include "services/collector/sources/dates.h"
#include "services/platform/base/format/json_reader.h"

namespace winnow::collector {
namespace {

std::string Article(const std::string& title, const std::string& original, const std::string& link,
                    const std::string& description, const std::string& date) {
  return "{\"title\":" + JsonQuoted(title) + ",\"originallink\":" + JsonQuoted(original) +
         ",\"link\":" + JsonQuoted(link) + ",\"description\":" + JsonQuoted(description) +
         ",\"pubDate\":" + JsonQuoted(date) + "}";
}

std::string Answer(const std::string& items) {
  return R"({"lastBuildDate":"Mon, 26 Sep 2016 11:01:35 +0900","total":9,"start":1,"display":10,)"
         "\"items\":[" +
         items + "]}";
}

TEST(Naver, AnArticleBecomesAnItem) {
  const VendorAnswer answer =
      ReadNaver(200, Answer(Article("<b>기후</b>변화 &quot;대응&quot; &amp;lt;속보&amp;gt;...",
                                    "http://www.outlet.example/news/1?utm_source=naver",
                                    "https://n.news.naver.com/mnews/article/001/1",
                                    "<b>요약</b> &amp; 본문", "Mon, 26 Sep 2016 07:50:00 +0900")));
  ASSERT_FALSE(answer.error);
  ASSERT_EQ(answer.page.items.size(), 1U);
  const Item& item = answer.page.items[0];
  EXPECT_EQ(item.title, "기후변화 \"대응\" <속보>...");  // escaped by the outlet, then by Naver
  EXPECT_EQ(item.url, "http://www.outlet.example/news/1?utm_source=naver");
  EXPECT_EQ(item.channel, "outlet.example");
  EXPECT_EQ(item.snippet, "요약 & 본문");
  EXPECT_EQ(item.publish_time, ParseDate("2016-09-25T22:50:00Z"));
}

TEST(Naver, AnEmptyOriginalLinkFallsBackToTheLink) {
  const VendorAnswer answer =
      ReadNaver(200, Answer(Article("a", "", "https://n.news.naver.com/1", "", "") + "," +
                            Article("b", "", "https://n.news.naver.com/2", "", "bad date") + "," +
                            Article("c", "not an address", "", "", "") + ",7"));
  ASSERT_EQ(answer.page.items.size(), 2U);
  EXPECT_NE(answer.page.items[0].url, answer.page.items[1].url);
  EXPECT_EQ(answer.page.items[0].channel, "n.news.naver.com");
  EXPECT_FALSE(answer.page.items[1].publish_time);
  EXPECT_EQ(answer.page.refused, 2U);
}

struct ErrorCase {
  int status;
  const char* code;
  Outcome outcome;
  Remedy remedy;
};

TEST(Naver, EveryDocumentedErrorIsTyped) {
  const ErrorCase cases[] = {{400, "SE01", Outcome::kBlocked, Remedy::kNever},
                             {400, "SE02", Outcome::kBlocked, Remedy::kNever},
                             {400, "SE03", Outcome::kBlocked, Remedy::kNever},
                             {400, "SE04", Outcome::kBlocked, Remedy::kNever},
                             {400, "SE06", Outcome::kBlocked, Remedy::kNever},
                             {404, "SE05", Outcome::kBlocked, Remedy::kNever},
                             {500, "SE99", Outcome::kUpstream, Remedy::kLater},
                             {401, "024", Outcome::kAuth, Remedy::kOperator},
                             {403, "", Outcome::kBlocked, Remedy::kNever},
                             {429, "012", Outcome::kRate, Remedy::kSoon},
                             {429, "010", Outcome::kQuotaDay, Remedy::kNextDay}};
  for (const ErrorCase& one : cases) {
    const std::string flat = std::string(R"({"errorMessage":"m","errorCode":")") + one.code + "\"}";
    for (const std::string& body : {flat, "{\"error\":" + flat + "}"}) {
      for (const int status : {one.status, 200}) {
        if (status == 200 && *one.code == '\0') continue;
        const VendorAnswer answer = ReadNaver(status, body);
        ASSERT_TRUE(answer.error) << body;
        EXPECT_EQ(answer.error->outcome, one.outcome) << one.code << " at " << status;
        EXPECT_EQ(answer.error->remedy, one.remedy) << one.code << " at " << status;
      }
    }
  }
}

TEST(Naver, WhatIsNoAnswerIsAParseError) {
  for (const char* body : {"", "<html></html>", "{}", "[1]", R"({"items":[{"title":"a")"}) {
    const VendorAnswer answer = ReadNaver(200, body);
    ASSERT_TRUE(answer.error) << body;
    EXPECT_EQ(answer.error->outcome, Outcome::kParse);
  }
  EXPECT_EQ(ReadNaver(502, "<html>").error->outcome, Outcome::kUpstream);
}

TEST(Naver, TheQueryIsEncoded) {
  EXPECT_EQ(NaverUrl("https://h/news.json", {.query = "기후 a&b", .display = 100, .start = 101}),
            "https://h/news.json?query=%EA%B8%B0%ED%9B%84%20a%26b&display=100&start=101&sort=date");
}

TEST(Dates, AreReadAsTheyAreWritten) {
  const auto expected = ParseDate("2016-09-26T02:01:35Z");
  ASSERT_TRUE(expected);
  EXPECT_EQ(expected->time_since_epoch(), std::chrono::seconds(1'474'855'295));
  for (const char* text :
       {"Mon, 26 Sep 2016 11:01:35 +0900", "26 Sep 2016 11:01:35 KST",
        "Mon, 26 Sep 16 02:01:35 GMT", "Monday, 26 September 2016 02:01:35 Z",
        "2016-09-26 02:01:35", "2016-09-26T11:01:35+09:00", "2016-09-26T11:01:35.000+0900",
        "Sep 26, 2016 02:01:35", "2016.09.26 02:01:35", "  Mon, 26 Sep 2016 02:01:35 UT  ",
        "Mon, 26-Sep-2016 02:01:35 GMT"}) {
    EXPECT_EQ(ParseDate(text), expected) << text;
  }
  EXPECT_EQ(ParseDate("2016-09-26"), ParseDate("Mon, 26 Sep 2016"));
  EXPECT_EQ(ParseDate("2016-09-26 11:01:35", 540), expected);
}

TEST(Dates, WhatIsNoneIsNone) {
  for (const char* text : {"", "yesterday", "2016-13-01", "2016-02-30", "Mon, 32 Sep 2016 11:01:35",
                           "26 Sep 2016 11:01:35 XYZ", "26 Sep 2016 25:01:35",
                           "0000-00-00 00:00:00", "1969-01-01", "99999-01-01"}) {
    EXPECT_FALSE(ParseDate(text)) << text;
  }
}

}  // namespace
}  // namespace winnow::collector
