#include "services/collector/sources/opml.h"

#include <algorithm>
#include <set>

#include "services/collector/sources/vendor.h"
#include "services/platform/base/ascii.h"
#include "services/platform/base/format/xml.h"
#include "services/platform/base/text.h"

namespace winnow::collector {
namespace {

constexpr size_t kMaxShownUrl = 200;

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ToLowerAscii(x) == ToLowerAscii(y); });
}

std::string AttributeOf(const XmlNode& node, std::string_view name) {
  for (const auto& [key, value] : node.attributes) {
    if (EqualIgnoringCase(key, name)) return CollapseWhitespace(value);
  }
  return {};
}

std::string TitleOf(const XmlNode& node) {
  std::string title = AttributeOf(node, "title");
  if (title.empty()) title = AttributeOf(node, "text");
  return LeadOf(UnescapeHtml(title), kMaxChannelName);
}

class OutlineReader {
 public:
  explicit OutlineReader(Opml& out) : out_(out) {}

  bool Read(const XmlNode& node) {
    for (const XmlNode& child : node.children) {
      if (!EqualIgnoringCase(child.name, "outline")) continue;
      const std::string url = AttributeOf(child, "xmlUrl");
      if (!url.empty() && !Add(child, url)) return false;
      const std::string title = TitleOf(child);
      if (!title.empty()) folders_.push_back(title);
      const bool go_on = Read(child);
      if (!title.empty()) folders_.pop_back();
      if (!go_on) return false;
    }
    return true;
  }

 private:
  bool Add(const XmlNode& node, const std::string& url) {
    if (CountCharacters(url) > kMaxUrl) {
      Refuse(node, url, "the address has more than 2,048 characters");
    } else if (ChannelOf(url).empty()) {
      Refuse(node, url, "the address is not an absolute http or https URL");
    } else if (!seen_.insert(url).second) {
      ++out_.repeated;
    } else {
      out_.feeds.push_back({url, TitleOf(node), TakeWords(folders_, kMaxCategories)});
    }
    return out_.feeds.size() <= kMaxOpmlFeeds;
  }

  void Refuse(const XmlNode& node, const std::string& url, const char* reason) {
    if (++out_.refused > kMaxRefusedOutlines) return;
    out_.refusals.push_back({TitleOf(node), LeadOf(url, kMaxShownUrl), reason});
  }

  Opml& out_;
  std::set<std::string> seen_;
  std::vector<std::string> folders_;
};

}  // namespace

StatusOr<Opml> ReadOpml(std::string_view bytes) {
  WINNOW_ASSIGN_OR_RETURN(const XmlNode root, ParseXml(bytes, "", {.max_bytes = kMaxOpmlBytes}));
  if (!EqualIgnoringCase(root.name, "opml")) return InvalidField("", "is not an OPML document");
  const auto body =
      std::find_if(root.children.begin(), root.children.end(),
                   [](const XmlNode& node) { return EqualIgnoringCase(node.name, "body"); });
  Opml out;
  if (!OutlineReader(out).Read(body == root.children.end() ? root : *body)) {
    return InvalidField(
        "", "has more than " + std::to_string(kMaxOpmlFeeds) + " feeds: import it in parts");
  }
  return out;
}

}  // namespace winnow::collector
