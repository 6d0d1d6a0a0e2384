#include "services/collector/sources/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/collector/sources/dates.h"
#include "services/collector/sources/opml.h"

namespace winnow::collector {
namespace {

using testing::ElementsAre;

Feed Read(const std::string& bytes, const std::string& charset = "") {
  StatusOr<Feed> feed =
      ReadFeed(bytes, {.url = "https://feeds.example/rss.xml", .charset = charset});
  EXPECT_TRUE(feed.ok()) << feed.status();
  return feed.ok() ? *std::move(feed) : Feed();
}

std::string Rss(const std::string& items, const std::string& declaration = "") {
  return declaration + R"(<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"
    xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Outlet &amp; Co</title>
    <language>ko_KR</language>)" +
         items + "</channel></rss>";
}

TEST(Feeds, RssIsRead) {
  const Feed feed = Read(Rss(R"(<item><title><![CDATA[A &quot;quoted&quot; <b>title</b>]]></title>
    <link>https://www.outlet.example/1</link><guid isPermaLink="false">tag-1</guid>
    <pubDate>Mon, 26 Sep 2016 11:01:35 +0900</pubDate><category>IT</category><category>IT</category>
    <description>&lt;p&gt;Lead &amp;amp; more&lt;/p&gt;</description>
    <media:content url="/i.jpg" medium="image"/></item>)"));
  EXPECT_EQ(feed.title, "Outlet & Co");
  ASSERT_EQ(feed.page.items.size(), 1U);
  const Item& item = feed.page.items[0];
  EXPECT_EQ(item.title, "A \"quoted\" title");
  EXPECT_EQ(item.url, "https://www.outlet.example/1");
  EXPECT_EQ(item.external_id, "tag-1");
  EXPECT_EQ(item.channel, "outlet.example");
  EXPECT_EQ(item.snippet, "Lead & more");
  EXPECT_EQ(item.language, "ko-KR");
  EXPECT_EQ(item.image_url, "https://feeds.example/i.jpg");
  EXPECT_EQ(item.publish_time, ParseDate("2016-09-26T02:01:35Z"));
  EXPECT_THAT(item.source_categories, ElementsAre("IT"));
}

TEST(Feeds, TextsThatWereEscapedOnceTooOftenBecomePlain) {
  const Feed feed = Read(Rss(R"(<item><title>&amp;amp;quot;a&amp;amp;quot; R&amp;amp;D</title>
    <link>https://www.outlet.example/1</link>
    <description><![CDATA[&amp;lsquo;b&amp;rsquo;<br/>c]]></description></item>)"));
  ASSERT_EQ(feed.page.items.size(), 1U);
  EXPECT_EQ(feed.page.items[0].title, "\"a\" R&D");
  EXPECT_EQ(feed.page.items[0].snippet, "‘b’ c");
}

TEST(Feeds, AtomIsRead) {
  const Feed feed = Read(R"(<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>T</title>
    <entry><title type="html">5 &amp;gt; 4</title><id>tag:x,2005:1</id>
    <link rel="self" href="https://a.example/self"/><link rel="alternate" href="/2"/>
    <updated>2016-09-26T02:01:35Z</updated><summary>1 &lt; 2</summary>
    <category term="science"/></entry>
    <entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">a <b>b</b></div></title>
    <id>https://a.example/3</id><link href="https://a.example/3"/></entry></feed>)");
  ASSERT_EQ(feed.page.items.size(), 2U);
  EXPECT_EQ(feed.page.items[0].title, "5 > 4");
  EXPECT_EQ(feed.page.items[0].url, "https://feeds.example/2");
  EXPECT_EQ(feed.page.items[0].external_id, "tag:x,2005:1");
  EXPECT_EQ(feed.page.items[0].snippet, "1 < 2");
  EXPECT_EQ(feed.page.items[0].language, "en");
  EXPECT_TRUE(feed.page.items[0].publish_time);
  EXPECT_EQ(feed.page.items[1].title, "a b");
  EXPECT_EQ(feed.page.items[1].external_id, "");
}

TEST(Feeds, RdfIsRead) {
  const Feed feed = Read(R"(<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
    <channel><title>R</title></channel><item><title>t</title><link>https://r.example/1</link>
    <dc:date>2016-09-26T11:01:35+09:00</dc:date><dc:subject>s</dc:subject></item></rdf:RDF>)");
  ASSERT_EQ(feed.page.items.size(), 1U);
  EXPECT_EQ(feed.page.items[0].channel_name, "R");
  EXPECT_EQ(feed.page.items[0].publish_time, ParseDate("2016-09-26T02:01:35Z"));
  EXPECT_THAT(feed.page.items[0].source_categories, ElementsAre("s"));
}

TEST(Feeds, MalformedOnesAreMended) {
  const std::string item =
      "<item><title>Q&A &nbsp;&copy; x</title><link>https://e.example/?a=1&b=2"
      "</link><description>\x01tab</description></item>";
  for (const std::string& feed :
       {"\n\n  " + Rss(item, "<?xml version=\"1.0\"?>"), "junk" + Rss(item),
        Rss(item).substr(0, Rss(item).size() - 10),
        "<rss><channel>" + item + "<media:thumbnail url='x'/><item><title>cut"}) {
    const Feed read = Read(feed);
    ASSERT_GE(read.page.items.size(), 1U) << feed;
    EXPECT_EQ(read.page.items[0].title, "Q&A © x");
    EXPECT_EQ(read.page.items[0].url, "https://e.example/?a=1&b=2");
  }
}

TEST(Feeds, CharsetsAreTold) {
  const std::string korean = "\xC7\xD1\xB1\xB9 \x8C\x63";  // CP949: beyond EUC-KR
  const std::string item =
      "<item><title>" + korean + "</title><link>https://e.example/</link></item>";
  for (const Feed& feed : {Read(Rss(item, "<?xml version=\"1.0\" encoding=\"euc-kr\"?>")),
                           Read(Rss(item), "EUC-KR"), Read(Rss(item))}) {
    ASSERT_EQ(feed.page.items.size(), 1U);
    EXPECT_EQ(feed.page.items[0].title, "한국 똠");
  }
  const std::string utf8 = "<item><title>한국</title><link>https://e.example/</link></item>";
  const Feed wrong = Read(Rss(utf8, "<?xml version=\"1.0\" encoding=\"euc-kr\"?>"));
  EXPECT_EQ(wrong.page.items.at(0).title, "한국");
}

TEST(Feeds, EntitiesAndFilesAreNotRead) {
  const Feed feed =
      Read(R"(<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">
    <!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>)" +
           Rss("<item><title>x&f;&c;y</title><link>https://e.example/</link></item>"));
  ASSERT_EQ(feed.page.items.size(), 1U);
  EXPECT_EQ(feed.page.items[0].title, "xy");
}

TEST(Feeds, WhatIsNoFeedIsRefused) {
  for (const char* text : {"", "hello", "<html><body/></html>", "{\"a\":1}", "<"}) {
    EXPECT_FALSE(ReadFeed(text, {.url = "https://e.example/", .charset = ""}).ok()) << text;
  }
}

TEST(OpmlFiles, OutlinesAreReadWithTheirFolders) {
  const StatusOr<Opml> opml = ReadOpml(R"(<opml version="2.0"><head><title>t</title></head><body>
    <outline text="News &amp; more"><outline type="rss" text="A" xmlUrl="https://a.example/f"/>
    <outline type="rss" title="A2" xmlURL="https://a.example/f"/></outline>
    <outline text="B" xmlUrl="https://b.example/f"/><outline text="C" xmlUrl="ftp://c"/></body></opml>)");
  ASSERT_TRUE(opml.ok()) << opml.status();
  ASSERT_EQ(opml->feeds.size(), 2U);
  EXPECT_EQ(opml->feeds[0].title, "A");
  EXPECT_THAT(opml->feeds[0].folders, ElementsAre("News & more"));
  EXPECT_EQ(opml->repeated, 1U);
  EXPECT_EQ(opml->refused, 1U);
  EXPECT_EQ(opml->refusals.at(0).title, "C");
  EXPECT_EQ(opml->refusals.at(0).url, "ftp://c");
  EXPECT_FALSE(ReadOpml("<rss/>").ok());
}

TEST(OpmlFiles, TwelveThousandOutlinesAreTaken) {
  std::string text = "<opml><body>";
  for (int i = 0; i < 12'000; ++i) {
    text += "<outline text='f' xmlUrl='https://h" + std::to_string(i) + ".example/f'/>";
  }
  const StatusOr<Opml> opml = ReadOpml(text + "</body></opml>");
  ASSERT_TRUE(opml.ok()) << opml.status();
  EXPECT_EQ(opml->feeds.size(), 12'000U);
}

}  // namespace
}  // namespace winnow::collector
