#include "services/collector/api/item_convert.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "services/platform/base/page_token.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::collector {
namespace {

using testing::ElementsAre;

const Time kNow = Time(std::chrono::microseconds(1'770'000'000'123'456));

v1::Item FullProto() {
  v1::Item item;
  item.set_namespace_("news");
  item.set_channel("edaily");
  item.set_external_id("n-1");
  item.set_url("https://example.com/a");
  item.set_title("title");
  item.set_snippet("snippet");
  item.set_language("ko");
  item.set_channel_name("Edaily");
  item.set_image_url("https://example.com/a.png");
  item.set_video_url("https://example.com/a.mp4");
  item.add_source_categories("finance");
  item.add_source_categories("world");
  item.add_keywords("rates");
  item.set_channel_icon_url("https://example.com/icon.png");
  item.add_ai_tags("economy");
  *item.mutable_publish_time() = ToTimestamp(kNow - std::chrono::hours(2));
  *item.mutable_arrival_time() = ToTimestamp(kNow - std::chrono::hours(1));
  return item;
}

TEST(CollectorConvert, EveryFieldThatACallerSetsComesBack) {
  Violations violations;
  Item item = FromProto(FullProto(), "item", violations);
  Accept(item, kNow, "item", violations);
  ASSERT_TRUE(violations.empty());
  item.id = "01900000-0000-7000-8000-000000000001";
  v1::Item expected = FullProto();
  expected.set_id(item.id);
  expected.set_canonical_url("https://example.com/a");
  *expected.mutable_create_time() = ToTimestamp(kNow);
  const v1::Item actual = ToProto(item);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(actual, expected))
      << actual.DebugString();
}

TEST(CollectorConvert, TextsThatWereEscapedOnceOrTwiceBecomePlain) {
  v1::Item sent = FullProto();
  sent.set_title("&amp;quot;재발 방지&amp;quot; [책&amp;amp;생각]");
  sent.set_snippet("R&D &amp;#39;지원&amp;#39; &amp;lt;b&amp;gt;");
  sent.set_channel_name("Q&amp;A");
  Violations violations;
  Item item = FromProto(sent, "item", violations);
  EXPECT_EQ(item.title, "\"재발 방지\" [책&생각]");
  EXPECT_EQ(item.snippet, "R&D '지원' <b>");
  EXPECT_EQ(item.channel_name, "Q&A");

  sent.set_title("Write &lt;p&gt; as &amp;lt;p&amp;gt;");
  sent.set_snippet("<p>5 &lt; 6 &amp;amp; <a href=\"?a=1&amp;b=2\">more</a></p>");
  item = FromProto(sent, "item", violations);
  EXPECT_EQ(item.title, "Write <p> as &lt;p&gt;");
  EXPECT_EQ(item.snippet, sent.snippet());
  EXPECT_TRUE(violations.empty());
}

TEST(CollectorConvert, OutputOnlyFieldsOfACallerAreIgnored) {
  v1::Item sent = FullProto();
  sent.set_id("01900000-0000-7000-8000-000000000001");
  sent.set_canonical_url("https://evil.example/");
  *sent.mutable_create_time() = ToTimestamp(kNow);
  Violations violations;
  const Item item = FromProto(sent, "item", violations);
  EXPECT_EQ(item.id, "");
  EXPECT_EQ(item.canonical_url, "");
  EXPECT_EQ(item.create_time, Time{});
}

TEST(CollectorConvert, TimesOutsideYears1To9999AreRefusedByName) {
  v1::Item item = FullProto();
  item.mutable_publish_time()->set_seconds(253'402'300'800);  // year 10000
  item.mutable_arrival_time()->set_seconds(-62'135'596'801);  // year 0
  Violations violations;
  FromProto(item, "items[0]", violations);
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) fields.push_back(violation.field);
  EXPECT_THAT(fields, ElementsAre("items[0].publish_time", "items[0].arrival_time"));
}

TEST(CollectorConvert, Years1And9999AreTaken) {
  v1::Item item = FullProto();
  item.mutable_publish_time()->set_seconds(253'402'300'799);
  item.mutable_publish_time()->set_nanos(999'999'999);
  item.mutable_arrival_time()->set_seconds(-62'135'596'800);
  Violations violations;
  FromProto(item, "item", violations);
  EXPECT_TRUE(violations.empty());
}

TEST(CollectorPageToken, GoesOnWhereThePageEnded) {
  v1::ListItemsRequest request;
  request.set_namespace_("news");
  request.set_channel("edaily");
  request.set_page_size(7);
  const ListQuery first = *FromProto(request);
  EXPECT_FALSE(first.cursor);
  const ListCursor cursor{"100:105:101,103", -42, kNow, "01900000-0000-7000-8000-000000000001"};
  request.set_page_token(ToPageToken(first, cursor));
  const StatusOr<ListQuery> next = FromProto(request);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->page_size, 7);
  EXPECT_EQ(next->cursor->snapshot, cursor.snapshot);
  EXPECT_EQ(next->cursor->cluster, cursor.cluster);
  EXPECT_EQ(next->cursor->arrival_time, cursor.arrival_time);
  EXPECT_EQ(next->cursor->id, cursor.id);
}

TEST(CollectorPageToken, OfAnotherNamespaceOrChannelIsRefused) {
  v1::ListItemsRequest request;
  const ListCursor cursor{"100:105:", 1, kNow, "01900000-0000-7000-8000-000000000001"};
  request.set_page_token(ToPageToken(*FromProto(request), cursor));
  EXPECT_TRUE(FromProto(request).ok());
  request.set_channel("edaily");
  EXPECT_EQ(ReasonOf(FromProto(request).status()), Reason::kInvalidPageToken);
  request.clear_channel();
  request.set_namespace_("news");
  EXPECT_EQ(ReasonOf(FromProto(request).status()), Reason::kInvalidPageToken);
}

TEST(CollectorPageToken, ThatIsForgedIsRefusedBeforeTheStoreSeesIt) {
  v1::ListItemsRequest request;
  const ListQuery query = *FromProto(request);
  const std::string id = "01900000-0000-7000-8000-000000000001";
  const Time never = Time(std::chrono::microseconds(INT64_MAX));
  for (const ListCursor& cursor :
       {ListCursor{"'; DROP TABLE", 1, kNow, id}, ListCursor{"", 1, kNow, id},
        ListCursor{"100:105:", 1, never, id}, ListCursor{"100:105:", 1, kNow, "no-uuid"}}) {
    request.set_page_token(ToPageToken(query, cursor));
    EXPECT_EQ(ReasonOf(FromProto(request).status()), Reason::kInvalidPageToken);
  }
  request.set_page_token("garbage");
  EXPECT_EQ(ReasonOf(FromProto(request).status()), Reason::kInvalidPageToken);
}

TEST(CollectorListing, SizeDefaultsIsCoercedAndMayNotBeNegative) {
  v1::ListItemsRequest request;
  EXPECT_EQ(FromProto(request)->page_size, 50);
  EXPECT_EQ(FromProto(request)->ns, "default");
  request.set_page_size(1'000'000);
  EXPECT_EQ(FromProto(request)->page_size, 1'000);
  request.set_page_size(-1);
  request.set_namespace_("Bad Namespace");
  request.set_channel(std::string(129, 'c'));
  std::vector<std::string> fields;
  for (const Violation& violation : ViolationsOf(FromProto(request).status())) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ElementsAre("namespace", "channel", "page_size"));
}

TEST(CollectorListing, OnlyPostgresSnapshotsAreSnapshots) {
  for (const char* text : {"1:1:", "100:105:", "100:105:100", "100:105:101,103,104"}) {
    EXPECT_TRUE(IsSnapshot(text)) << text;
  }
  for (const char* text : {"", ":", "1:", "1:1", "0:1:", "5:4:", "100:105:105", "100:105:99",
                           "100:105:103,101", "100:105:101,", "100:105:,101", "-1:5:", "1:2:1;",
                           "99999999999999999999:1:", "1:18446744073709551615:"}) {
    EXPECT_FALSE(IsSnapshot(text)) << text;
  }
}

}  // namespace
}  // namespace winnow::collector
