#include <algorithm>

#include "services/collector/sources/dates.h"
#include "services/collector/sources/feed.h"
#include "services/collector/sources/head_scanner.h"
#include "services/collector/sources/naver.h"
#include "services/collector/sources/newsdata.h"
#include "services/collector/sources/opml.h"
#include "services/platform/base/text.h"
#include "tests/fuzz/targets.h"

namespace winnow::fuzz {
namespace {

using namespace collector;

// Whatever a vendor sends: items that can be identified and stored, or refused ones.
void CheckPage(const Page& page) {
  for (const Item& item : page.items) {
    FUZZ_CHECK(!item.title.empty() && !item.channel.empty());
    FUZZ_CHECK(!item.url.empty() || !item.external_id.empty());
    FUZZ_CHECK(item.source_categories.size() <= kMaxCategories);
    FUZZ_CHECK(item.keywords.size() <= kMaxKeywords);
    FUZZ_CHECK(CountCharacters(item.snippet) <= kMaxLead);
  }
}

void CheckAnswer(const VendorAnswer& answer) {
  CheckPage(answer.page);
  if (answer.error) FUZZ_CHECK(answer.error->code.size() <= 64 && answer.page.items.empty());
}

constexpr std::string_view kNaverSeeds[] = {
    R"({"total":1,"items":[{"title":"<b>a</b>","originallink":"","link":"https://e.example/1",)",
    R"("description":"&amp;","pubDate":"Mon, 26 Sep 2016 07:50:00 +0900"}]})",
    R"({"errorMessage":"m","errorCode":"024"})", R"({"error":{"errorCode":"010"}})"};
void FuzzNaver(std::string_view bytes) {
  CheckAnswer(ReadNaver(200, bytes));
  CheckAnswer(ReadNaver(429, bytes));
}

constexpr std::string_view kNewsDataSeeds[] = {
    R"({"status":"success","results":[{"title":"t","link":"https://e.example","keywords":null,)",
    R"("category":["a"],"ai_tag":"ONLY AVAILABLE IN","pubDate":"2024-07-20 08:21:00"}],)",
    R"("nextPage":"17"})", R"({"status":"error","results":{"message":"m","code":"c"}})"};
void FuzzNewsData(std::string_view bytes) {
  CheckAnswer(ReadNewsData(200, bytes));
  CheckAnswer(ReadNewsData(500, bytes));
}

constexpr std::string_view kFeedSeeds[] = {
    "<rss><channel><title>t</title><item><title>a</title><link>https://e.example/</link>",
    "<pubDate>Mon, 26 Sep 2016 07:50:00 +0900</pubDate></item></channel></rss>",
    "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/a'/>",
    "<![CDATA[x]]>",
    "<?xml version='1.0' encoding='euc-kr'?>",
    "<!DOCTYPE r [<!ENTITY a 'b'>]>",
    "&nbsp;&a;&#0;&"};
void FuzzFeed(std::string_view bytes) {
  for (const char* charset : {"", "euc-kr"}) {
    const auto feed = ReadFeed(bytes, {.url = "https://e.example/f", .charset = charset});
    if (feed.ok()) CheckPage(feed->page);
  }
}

constexpr std::string_view kOpmlSeeds[] = {"<opml><body><outline text='a'>",
                                           "<outline xmlUrl='https://e.example/f' text='b'/>",
                                           "</outline></body></opml>"};
void FuzzOpml(std::string_view bytes) {
  const auto opml = ReadOpml(bytes);
  if (!opml.ok()) return;
  for (const OpmlFeed& feed : opml->feeds) FUZZ_CHECK(!ChannelOf(feed.url).empty());
}

constexpr std::string_view kDateSeeds[] = {
    "Mon, 26 Sep 2016 11:01:35 +0900", "2016-09-26T11:01:35.123+09:00", "2016.09.26 02:01", "KST"};
void FuzzDate(std::string_view bytes) {
  const auto date = ParseDate(bytes);
  if (!date) return;
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(*date));
  FUZZ_CHECK(static_cast<int>(day.year()) >= 1969 && static_cast<int>(day.year()) <= 9999);
}

constexpr std::string_view kHeadSeeds[] = {
    "<head><meta property='og:image' content='/a.jpg'>",
    "<!-- x -->",
    "</head><body>",
    "<script type='application/ld+json'>{\"image\":[{\"url\":\"https://e.example/\"}]}</script>",
    "<meta charset=euc-kr>",
    "<base href='//b/'>",
    "\xFF\xFE<\0m\0",
    "<link rel=image_src href="};
void FuzzHead(std::string_view bytes) {
  for (const size_t piece : {size_t{3}, bytes.size() + 1}) {
    HeadScanner scanner;
    std::string_view rest = bytes;
    while (!rest.empty() && scanner.Feed(rest.substr(0, piece))) {
      rest.remove_prefix(std::min(piece, rest.size()));
    }
    const std::string image = scanner.Image("https://e.example/page", "");
    FUZZ_CHECK(image.empty() || !ChannelOf(image).empty());
  }
}

constexpr Target kTargets[] = {
    {"naver", FuzzNaver, kNaverSeeds},       {"newsdata", FuzzNewsData, kNewsDataSeeds},
    {"feed_document", FuzzFeed, kFeedSeeds}, {"opml", FuzzOpml, kOpmlSeeds},
    {"page_head", FuzzHead, kHeadSeeds},     {"feed_date", FuzzDate, kDateSeeds}};

}  // namespace

std::span<const Target> CollectorTargets() { return kTargets; }

}  // namespace winnow::fuzz
