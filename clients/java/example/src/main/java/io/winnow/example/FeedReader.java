package io.winnow.example;

import com.google.protobuf.Timestamp;
import io.winnow.collector.v1.Item;
import java.io.IOException;
import java.io.InputStream;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** RSS 2.0 and Atom documents to items. */
final class FeedReader {
  private FeedReader() {}

  /** The items of a feed; entries without a title are left out. */
  static List<Item> read(InputStream feed, String namespace, String channel) throws IOException {
    Element root = parse(feed);
    boolean atom = root.getLocalName().equals("feed");
    NodeList entries = root.getElementsByTagNameNS("*", atom ? "entry" : "item");
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < entries.getLength(); i++) {
      Item item = item((Element) entries.item(i), atom, namespace, channel);
      if (!item.getTitle().isEmpty()) {
        items.add(item);
      }
    }
    return items;
  }

  private static Element parse(InputStream feed) throws IOException {
    try {
      DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
      factory.setNamespaceAware(true);
      // A feed is foreign input: no document types, so no entities and no fetches.
      factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
      factory.setFeature(XMLConstants.FEATURE_SECURE_PROCESSING, true);
      return factory.newDocumentBuilder().parse(feed).getDocumentElement();
    } catch (ParserConfigurationException | SAXException error) {
      throw new IOException("not a feed that can be read: " + error.getMessage(), error);
    }
  }

  private static Item item(Element entry, boolean atom, String namespace, String channel) {
    Item.Builder item = Item.newBuilder().setNamespace(namespace).setChannel(channel);
    item.setTitle(text(entry, "title"));
    item.setSnippet(text(entry, atom ? "summary" : "description"));
    item.setExternalId(text(entry, atom ? "id" : "guid"));
    item.setUrl(atom ? atomLink(entry) : text(entry, "link"));
    String published = text(entry, atom ? "published" : "pubDate");
    time(published.isEmpty() && atom ? text(entry, "updated") : published)
        .ifPresent(item::setPublishTime);
    return item.build();
  }

  private static String text(Element entry, String name) {
    NodeList found = entry.getElementsByTagNameNS("*", name);
    return found.getLength() == 0 ? "" : found.item(0).getTextContent().strip();
  }

  private static String atomLink(Element entry) {
    NodeList links = entry.getElementsByTagNameNS("*", "link");
    for (int i = 0; i < links.getLength(); i++) {
      Element link = (Element) links.item(i);
      String rel = link.getAttribute("rel");
      if (rel.isEmpty() || rel.equals("alternate")) {
        return link.getAttribute("href");
      }
    }
    return "";
  }

  /** RFC 822 as in RSS, RFC 3339 as in Atom; empty when it is neither. */
  static Optional<Timestamp> time(String text) {
    try {
      Instant instant =
          text.contains(",")
              ? ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant()
              : OffsetDateTime.parse(text).toInstant();
      return Optional.of(
          Timestamp.newBuilder()
              .setSeconds(instant.getEpochSecond())
              .setNanos(instant.getNano())
              .build());
    } catch (DateTimeException odd) {
      return Optional.empty(); // the server takes the arrival time then
    }
  }
}
