#include "services/collector/sources/newsdata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/collector/sources/dates.h"

namespace winnow::collector {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Answer(const std::string& results, const std::string& next = "null") {
  return R"({"status":"success","totalResults":2,"results":[)" + results + R"(],"nextPage":)" +
         next + "}";
}

constexpr const char* kArticle = R"({"article_id":"d6c2e2d1d9dd1d0a7b0d5c0a7b3a1c2e",
  "title":"AI &amp; &amp;quot;반도체&amp;quot;","link":"https://www.outlet.example/a",
  "keywords":["ai","chip"],
  "creator":null,"video_url":null,"description":"본문","content":"ONLY AVAILABLE IN PAID PLANS",
  "pubDate":"2024-07-20 08:21:00","image_url":"https://img.example/1.jpg","source_id":"outlet",
  "source_name":"Outlet","source_icon":"https://i/1.png","source_priority":12,"language":"korean",
  "country":["south korea"],"category":["technology"],"ai_tag":["semiconductors"],
  "ai_region":"ONLY AVAILABLE IN CORPORATE PLANS","ai_org":null,"sentiment":"neutral",
  "duplicate":false,"a new field":{"x":[1,{"y":2}]}})";

TEST(NewsData, AnArticleBecomesAnItem) {
  const VendorAnswer answer = ReadNewsData(200, Answer(kArticle, "\"1721463660112345678901\""));
  ASSERT_FALSE(answer.error);
  EXPECT_EQ(answer.page.next, "1721463660112345678901");
  ASSERT_EQ(answer.page.items.size(), 1U);
  const Item& item = answer.page.items[0];
  EXPECT_EQ(item.title, "AI & \"반도체\"");
  EXPECT_EQ(item.channel, "outlet.example");
  EXPECT_EQ(item.channel_name, "Outlet");
  EXPECT_EQ(item.external_id, "");
  EXPECT_EQ(item.language, "ko");
  EXPECT_EQ(item.image_url, "https://img.example/1.jpg");
  EXPECT_EQ(item.publish_time, ParseDate("2024-07-20T08:21:00Z"));
  EXPECT_THAT(item.source_categories, ElementsAre("technology"));
  EXPECT_THAT(item.keywords, ElementsAre("ai", "chip"));
  EXPECT_THAT(item.ai_tags, ElementsAre("semiconductors"));
  EXPECT_EQ(item.channel_icon_url, "https://i/1.png");
}

TEST(NewsData, OneBadItemNeverKillsAPage) {
  const std::string bad =
      R"({"article_id":7,"title":null,"link":["x"]},null,3,"text",{},)"
      R"({"title":"no address","article_id":"abc","source_id":"outlet","link":null},)"
      R"({"title":"t","link":"https://e.example/1","keywords":"ONLY AVAILABLE IN PAID PLANS",)"
      R"("ai_tag":"ONLY AVAILABLE IN PAID PLANS","category":"top","description":{"x":1},)"
      R"("image_url":"data:image/png;base64,x","pubDate":17,"language":"klingon"})";
  const VendorAnswer answer = ReadNewsData(200, Answer(std::string(kArticle) + "," + bad));
  ASSERT_FALSE(answer.error);
  ASSERT_EQ(answer.page.items.size(), 3U);
  EXPECT_EQ(answer.page.refused, 5U);
  EXPECT_EQ(answer.page.items[1].external_id, "abc");
  EXPECT_EQ(answer.page.items[1].channel, "outlet");
  const Item& odd = answer.page.items[2];
  EXPECT_THAT(odd.keywords, IsEmpty());
  EXPECT_THAT(odd.source_categories, ElementsAre("top"));
  EXPECT_EQ(odd.snippet + odd.image_url + odd.language, "");
  EXPECT_FALSE(odd.publish_time);
}

TEST(NewsData, AnEmptyAnswerIsNoError) {
  EXPECT_FALSE(ReadNewsData(200, Answer("")).error);
  const std::string none =
      R"({"status":"success","totalResults":0,"results":null,"nextPage":null})";
  const VendorAnswer answer = ReadNewsData(200, none);
  EXPECT_FALSE(answer.error);
  EXPECT_THAT(answer.page.items, IsEmpty());
  EXPECT_EQ(answer.page.next, "");
}

struct ErrorCase {
  int status;
  Outcome outcome;
  Remedy remedy;
};

TEST(NewsData, EveryDocumentedErrorIsTypedInBothShapes) {
  const ErrorCase cases[] = {
      {401, Outcome::kAuth, Remedy::kOperator}, {403, Outcome::kBlocked, Remedy::kNever},
      {409, Outcome::kBlocked, Remedy::kNever}, {415, Outcome::kBlocked, Remedy::kNever},
      {422, Outcome::kBlocked, Remedy::kNever}, {429, Outcome::kRate, Remedy::kLater},
      {500, Outcome::kUpstream, Remedy::kLater}};
  for (const ErrorCase& one : cases) {
    for (const char* body : {R"({"status":"error","results":{"message":"m","code":"Some"}})",
                             R"({"status":"error","message":"m"})", "<html>"}) {
      const VendorAnswer answer = ReadNewsData(one.status, body);
      ASSERT_TRUE(answer.error) << one.status << body;
      EXPECT_EQ(answer.error->outcome, one.outcome) << one.status << body;
      EXPECT_EQ(answer.error->remedy, one.remedy) << one.status << body;
    }
  }
  const VendorAnswer said =
      ReadNewsData(200, R"({"status":"error","results":{"message":"m","code":"Unauthorized"}})");
  EXPECT_EQ(said.error->outcome, Outcome::kAuth);
  EXPECT_EQ(ReadNewsData(200, R"({"status":"success"})").error->outcome, Outcome::kParse);
  EXPECT_EQ(ReadNewsData(200, Answer(kArticle).substr(0, 300)).error->outcome, Outcome::kParse);
}

TEST(NewsData, TheRequestHoldsNoKey) {
  const std::string url = NewsDataUrl(kNewsDataUrl, {.query = "",
                                                     .country = "kr",
                                                     .language = "ko",
                                                     .category = "",
                                                     .timeframe = "",
                                                     .page = "7"});
  EXPECT_EQ(url,
            "https://newsdata.io/api/1/latest?size=10&removeduplicate=1&country=kr&language=ko"
            "&page=7");
  EXPECT_THAT(url, Not(HasSubstr("apikey")));
}

}  // namespace
}  // namespace winnow::collector
