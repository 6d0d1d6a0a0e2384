#include "services/collector/sources/feed.h"

#include <algorithm>

#include "services/collector/sources/dates.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/format/xml.h"
#include "services/platform/base/text.h"
#include "services/platform/base/url/target.h"

namespace winnow::collector {
namespace {

bool IsMedia(const XmlNode& node) {
  return node.prefix == "media" || node.ns.find("search.yahoo.com/mrss") != std::string::npos;
}
bool IsItunes(const XmlNode& node) { return node.prefix == "itunes"; }
bool IsAtom(const XmlNode& node) { return node.ns.find("Atom") != std::string::npos; }

// Markup or character references in a text that says to be plain are one level of HTML too many:
// most feeds have it, so titles and leads are read as HTML unless they are Atom's plain text.
std::string Plain(const XmlNode& node) {
  const std::string type = LowerAscii(node.Attribute("type"));
  const bool plain = type == "text" && IsAtom(node);
  if (plain || (type.empty() && IsAtom(node))) return CollapseWhitespace(node.AllText());
  if (type == "xhtml") return CollapseWhitespace(node.AllText());
  return CollapseWhitespace(UnescapeHtmlLayers(StripHtml(node.AllText())));
}

class EntryReader {
 public:
  EntryReader(const XmlNode& node, const Feed& feed, const http::Target* base)
      : node_(node), feed_(feed), base_(base) {}

  // False: no item can be made of it.
  bool Read(Item& item) {
    for (const XmlNode& child : node_.children) ReadChild(child, item);
    item.snippet = LeadOf(lead_.empty() ? body_ : lead_, kMaxLead);
    item.url = origin_.empty() ? Absolute(link_) : Absolute(origin_);
    const std::string guid(TrimAscii(guid_));
    if (item.url.empty() && guid_is_link_) item.url = Absolute(guid);
    item.channel = ChannelOf(item.url);
    if (item.channel.empty()) item.url.clear();
    // A GUID that is an address says no more than the link, which is read in its canonical form.
    const bool own_id = !guid.empty() && ChannelOf(guid).empty();
    if (own_id && CountCharacters(guid) <= kMaxExternalId) item.external_id = guid;
    if (item.channel.empty() && base_ != nullptr) item.channel = ChannelOf(base_->url);
    item.channel_name = LeadOf(feed_.title.empty() ? item.channel : feed_.title, kMaxChannelName);
    item.language = feed_.language;
    item.publish_time = published_ ? published_ : updated_;
    item.source_categories = TakeWords(categories_, kMaxCategories);
    if (item.title.empty()) item.title = LeadOf(item.snippet, 100);
    return !item.title.empty() && !item.channel.empty() &&
           !(item.url.empty() && item.external_id.empty());
  }

 private:
  void ReadChild(const XmlNode& child, Item& item) {
    const std::string name = LowerAscii(child.name);
    if (IsMedia(child) || name == "enclosure" || IsItunes(child)) {
      ReadMedia(child, name, item);
    } else if (name == "title") {
      if (item.title.empty()) item.title = Plain(child);
    } else if (name == "link") {
      ReadLink(child);
    } else if (name == "origlink") {
      origin_ = TrimAscii(child.text);
    } else if (name == "guid" || (name == "id" && IsAtom(node_))) {
      guid_ = child.text;
      guid_is_link_ = LowerAscii(child.Attribute("isPermaLink")) != "false";
    } else if (name == "category" || name == "subject") {
      const std::string_view term = child.Attribute("term");
      categories_.push_back(term.empty() ? Plain(child) : UnescapeHtmlLayers(term));
    } else {
      ReadText(child, name);
    }
  }

  void ReadText(const XmlNode& child, const std::string& name) {
    if (name == "description" || name == "summary") {
      if (lead_.empty()) lead_ = Plain(child);
    } else if (name == "encoded" || name == "content") {
      if (body_.empty()) body_ = Plain(child);
    } else if (name == "pubdate" || name == "published" || name == "date" || name == "issued") {
      if (!published_) published_ = ParseDate(TrimAscii(child.text));
    } else if (name == "updated" || name == "modified") {
      if (!updated_) updated_ = ParseDate(TrimAscii(child.text));
    }
  }

  void ReadLink(const XmlNode& child) {
    const std::string_view href = child.Attribute("href");
    if (href.empty()) {
      if (!TrimAscii(child.text).empty()) link_ = TrimAscii(child.text);
      return;
    }
    const std::string rel = LowerAscii(child.Attribute("rel"));
    if (link_.empty() && (rel.empty() || rel == "alternate")) link_ = TrimAscii(href);
  }

  void ReadMedia(const XmlNode& child, const std::string& name, Item& item) {
    const std::string_view url =
        child.Attribute("url").empty() ? child.Attribute("href") : child.Attribute("url");
    const std::string type = LowerAscii(child.Attribute("type"));
    const std::string medium = LowerAscii(child.Attribute("medium"));
    const bool image =
        name == "thumbnail" || name == "image" || medium == "image" || type.starts_with("image/");
    const bool video = medium == "video" || type.starts_with("video/");
    if (image && item.image_url.empty()) item.image_url = Usable(url);
    if (video && item.video_url.empty()) item.video_url = Usable(url);
    for (const XmlNode& inner : child.children) {  // media:group
      if (IsMedia(inner)) ReadMedia(inner, LowerAscii(inner.name), item);
    }
  }

  std::string Absolute(std::string_view link) const {
    link = TrimAscii(link);
    if (link.empty() || link.size() > 4 * kMaxUrl) return {};
    const std::string lower = LowerAscii(link.substr(0, 8));
    if (lower.starts_with("http://") || lower.starts_with("https://")) return std::string(link);
    if (base_ == nullptr) return {};
    const StatusOr<http::Target> target = http::Resolve(*base_, std::string(link));
    return target.ok() ? target->url : std::string();
  }

  std::string Usable(std::string_view link) const {
    std::string url = Absolute(link);
    return ChannelOf(url).empty() ? std::string() : url;
  }

  const XmlNode& node_;
  const Feed& feed_;
  const http::Target* base_;
  std::string link_, origin_, guid_, lead_, body_;
  bool guid_is_link_ = true;
  std::vector<std::string> categories_;
  std::optional<Time> published_, updated_;
};

bool IsEntry(const XmlNode& node) {
  const std::string name = LowerAscii(node.name);
  return name == "item" || name == "entry";
}

// The element that holds title and language, and those that hold entries: RDF has its items beside
// the channel.
struct Layout {
  const XmlNode* head = nullptr;
  std::vector<const XmlNode*> holders;
};

std::optional<Layout> LayoutOf(const XmlNode& root) {
  const std::string name = LowerAscii(root.name);
  if (name == "feed" || name == "channel") return Layout{&root, {&root}};
  if (name != "rss" && name != "rdf") return std::nullopt;
  Layout layout{&root, {&root}};
  for (const XmlNode& child : root.children) {
    if (LowerAscii(child.name) != "channel") continue;
    if (layout.head == &root) layout.head = &child;
    layout.holders.push_back(&child);
  }
  return layout;
}

std::string LanguageOf(const XmlNode& root, const XmlNode& head) {
  const XmlNode* child = head.Child("language");
  std::string tag(child != nullptr ? TrimAscii(child->text) : root.Attribute("lang"));
  std::replace(tag.begin(), tag.end(), '_', '-');
  const bool usable =
      !tag.empty() && tag.size() <= kMaxLanguage &&
      std::all_of(tag.begin(), tag.end(), [](char c) { return IsAsciiLetter(c) || c == '-'; });
  return usable ? tag : std::string();
}

}  // namespace

StatusOr<Feed> ReadFeed(std::string_view bytes, const FeedOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(const XmlNode root,
                          ParseXml(bytes, options.charset, {.max_bytes = kMaxFeedBytes}));
  const std::optional<Layout> layout = LayoutOf(root);
  if (!layout) return InvalidField("", "is not a feed: the root element is not rss, RDF or feed");
  Feed feed;
  if (const XmlNode* title = layout->head->Child("title")) feed.title = Plain(*title);
  feed.language = LanguageOf(root, *layout->head);
  const StatusOr<http::Target> base = http::ParseTarget(options.url);
  size_t entries = 0;
  for (const XmlNode* holder : layout->holders) {
    for (const XmlNode& child : holder->children) {
      if (!IsEntry(child)) continue;
      Item item;
      const bool taken = ++entries <= kMaxFeedEntries &&
                         EntryReader(child, feed, base.ok() ? &*base : nullptr).Read(item);
      if (taken) {
        feed.page.items.push_back(std::move(item));
      } else {
        ++feed.page.refused;
      }
    }
  }
  return feed;
}

}  // namespace winnow::collector
