#include "services/platform/base/format/xml.h"

#include <libxml/parser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "services/platform/base/format/charset.h"
#include "services/platform/base/text.h"
#include "services/platform/base/utf8.h"

namespace winnow {
namespace {

using Document = std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)>;
using Context = std::unique_ptr<xmlParserCtxt, decltype(&xmlFreeParserCtxt)>;

constexpr size_t kDeclarationBytes = 256;
constexpr size_t kLongestEntity = 12;

std::string ToString(const xmlChar* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

// The encoding that <?xml ... encoding="..."?> names.
std::string_view DeclaredCharset(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, kDeclarationBytes);
  const size_t begin = head.find("<?xml");
  const size_t end = head.find("?>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  const std::string_view declaration = head.substr(begin, end - begin);
  size_t at = declaration.find("encoding");
  if (at == std::string_view::npos) return {};
  at = declaration.find_first_of("\"'", at);
  if (at == std::string_view::npos) return {};
  const size_t close = declaration.find(declaration[at], at + 1);
  return close == std::string_view::npos ? std::string_view()
                                         : declaration.substr(at + 1, close - at - 1);
}

// What XML takes "&..." at the front of `text` for, and how many bytes of it that replaces. As
// numbers: libxml2 forgets its own entities once it had to repair something.
std::string MendReference(std::string_view text, size_t& taken) {
  taken = 1;
  const size_t end = text.substr(0, kLongestEntity).find_first_of("; &<", 1);
  if (end == std::string_view::npos || end < 2 || text[end] != ';') return "&#38;";
  const std::string whole(text.substr(0, end + 1));
  std::string plain = UnescapeHtml(whole);
  if (plain == whole) return "&#38;";  // no entity of HTML
  taken = end + 1;
  if (plain == "&") return "&#38;";
  if (plain == "<") return "&#60;";
  if (plain == "\"") return "&#34;";
  if (plain == "'") return "&#39;";
  const bool control = plain.size() == 1 && static_cast<unsigned char>(plain.front()) < ' ';
  return control ? " " : plain;
}

// Bare "&" and HTML's entities to what XML knows, outside of CDATA.
std::string MendReferences(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  while (!text.empty()) {
    const size_t at = text.find_first_of("&<");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    if (text.starts_with("<![CDATA[")) {
      const size_t end = text.find("]]>");
      const size_t size = end == std::string_view::npos ? text.size() : end + 3;
      out += text.substr(0, size);
      text.remove_prefix(size);
      continue;
    }
    size_t taken = 1;
    out += text.front() == '<' ? "<" : MendReference(text, taken);
    text.remove_prefix(taken);
  }
  return out;
}

// What no XML may hold, and what stands before the first element's "<".
std::string Clean(std::string text) {
  std::erase_if(text, [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r';
  });
  const size_t begin = text.find('<');
  return begin == std::string::npos ? std::string() : text.substr(begin);
}

Document Parse(const std::string& text, bool recover) {
  static std::once_flag once;
  std::call_once(once, [] { xmlInitParser(); });
  const Context context(xmlNewParserCtxt(), &xmlFreeParserCtxt);
  if (context == nullptr || text.size() > std::numeric_limits<int>::max()) {
    return {nullptr, &xmlFreeDoc};
  }
  // Neither XML_PARSE_NOENT nor DTDLOAD: entities stay what they are, and nothing is loaded.
  const int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                      XML_PARSE_NOBLANKS | XML_PARSE_IGNORE_ENC | XML_PARSE_COMPACT |
                      (recover ? XML_PARSE_RECOVER : 0);
  return {xmlCtxtReadMemory(context.get(), text.data(), static_cast<int>(text.size()), nullptr,
                            "UTF-8", options),
          &xmlFreeDoc};
}

class Builder {
 public:
  explicit Builder(const XmlLimits& limits) : limits_(limits) {}

  bool Build(const xmlNode& from, int depth, XmlNode& to) {
    if (++nodes_ > limits_.max_nodes) return false;
    Name(from, to);
    for (const xmlAttr* attribute = from.properties; attribute != nullptr;
         attribute = attribute->next) {
      std::string value;
      for (const xmlNode* part = attribute->children; part != nullptr; part = part->next) {
        if (part->type == XML_TEXT_NODE) value += ToString(part->content);
      }
      to.attributes.emplace_back(ToString(attribute->name), std::move(value));
    }
    for (const xmlNode* child = from.children; child != nullptr; child = child->next) {
      if (child->type == XML_TEXT_NODE || child->type == XML_CDATA_SECTION_NODE) {
        to.text += ToString(child->content);
      } else if (child->type == XML_ELEMENT_NODE && depth < limits_.max_depth) {
        if (!Build(*child, depth + 1, to.children.emplace_back())) return false;
      }
    }
    return true;
  }

 private:
  static void Name(const xmlNode& from, XmlNode& to) {
    to.name = ToString(from.name);
    if (from.ns != nullptr) {
      to.prefix = ToString(from.ns->prefix);
      to.ns = ToString(from.ns->href);
    } else if (const size_t colon = to.name.find(':'); colon != std::string::npos) {
      to.prefix = to.name.substr(0, colon);
      to.name.erase(0, colon + 1);
    }
  }

  const XmlLimits& limits_;
  size_t nodes_ = 0;
};

void AppendText(const XmlNode& node, std::string& out) {
  out += node.text;
  for (const XmlNode& child : node.children) {
    if (!out.empty()) out += ' ';
    AppendText(child, out);
  }
}

}  // namespace

std::string_view XmlNode::Attribute(std::string_view attribute) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& one) { return one.first == attribute; });
  return found == attributes.end() ? std::string_view() : std::string_view(found->second);
}

const XmlNode* XmlNode::Child(std::string_view child) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const XmlNode& one) { return one.name == child; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlNode::AllText() const {
  std::string out;
  AppendText(*this, out);
  return out;
}

StatusOr<XmlNode> ParseXml(std::string_view bytes, std::string_view transport,
                           const XmlLimits& limits) {
  if (bytes.size() > limits.max_bytes) {
    return InvalidField("", "is larger than " + std::to_string(limits.max_bytes) + " bytes");
  }
  const std::string text = Clean(DecodeWebText(bytes, transport, DeclaredCharset(bytes)));
  Document document = Parse(text, /*recover=*/false);
  if (document == nullptr) document = Parse(MendReferences(text), /*recover=*/true);
  const xmlNode* root = document == nullptr ? nullptr : xmlDocGetRootElement(document.get());
  if (root == nullptr) return InvalidField("", "is not well-formed XML");
  XmlNode out;
  if (!Builder(limits).Build(*root, 1, out)) {
    return InvalidField("", "has more than " + std::to_string(limits.max_nodes) + " elements");
  }
  return out;
}

}  // namespace winnow
