package io.winnow.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.winnow.collector.v1.Item;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class FeedReaderTest {
  private static List<Item> read(String xml) throws IOException {
    return FeedReader.read(
        new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)), "test", "outlet");
  }

  @Test
  void anRssItemHasItsLinkGuidTextAndTime() throws IOException {
    var items =
        read(
            """
            <rss version="2.0"><channel><title>Outlet</title>
            <item><title>새 소식 &amp; more</title><link>https://outlet.example/1</link>
            <guid>g-1</guid><description>lead</description>
            <pubDate>Mon, 02 Feb 2026 09:00:00 +0900</pubDate></item>
            <item><description>no title: left out</description></item>
            </channel></rss>
            """);
    assertEquals(1, items.size());
    Item item = items.get(0);
    assertEquals("새 소식 & more", item.getTitle());
    assertEquals("https://outlet.example/1", item.getUrl());
    assertEquals("g-1", item.getExternalId());
    assertEquals("lead", item.getSnippet());
    assertEquals(1769990400L, item.getPublishTime().getSeconds());
  }

  @Test
  void anAtomEntryHasItsAlternateLink() throws IOException {
    var items =
        read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom"><title>Outlet</title>
            <entry><title>News</title><id>urn:1</id>
            <link rel="self" href="https://outlet.example/self"/>
            <link rel="alternate" href="https://outlet.example/1"/>
            <updated>2026-02-02T00:00:00Z</updated></entry></feed>
            """);
    assertEquals("https://outlet.example/1", items.get(0).getUrl());
    assertEquals(1769990400L, items.get(0).getPublishTime().getSeconds());
  }

  @Test
  void anOddDateIsNoTime() {
    assertTrue(FeedReader.time("yesterday").isEmpty());
    assertTrue(FeedReader.time("").isEmpty());
    assertFalse(FeedReader.time("2026-02-02T00:00:00+09:00").isEmpty());
  }

  @Test
  void aDocumentTypeIsRefused() {
    assertThrows(
        IOException.class,
        () -> read("<!DOCTYPE rss [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><rss>&x;</rss>"));
  }
}
