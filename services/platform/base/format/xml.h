#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/platform/base/status.h"

// XML as a small tree, by libxml2 with everything off that reaches out: no network, no external
// or internal entities, no DTD. Pure: no I/O.
namespace winnow {

struct XmlNode {
  std::string prefix;  // as the document spells it
  std::string name;    // without prefix
  std::string ns;      // namespace URI; empty when the prefix was never declared
  std::vector<std::pair<std::string, std::string>> attributes;  // names without prefix
  std::string text;  // of this element alone: text and CDATA
  std::vector<XmlNode> children;

  // The first attribute of this name; empty if there is none.
  std::string_view Attribute(std::string_view attribute) const;
  // The first child of this name, in any namespace; null if there is none.
  const XmlNode* Child(std::string_view child) const;
  // Text of this element and of all below, in order of the document as far as elements go.
  std::string AllText() const;
};

struct XmlLimits {
  size_t max_bytes = 16 * 1024 * 1024;
  size_t max_nodes = 400'000;
  int max_depth = 64;  // what lies deeper is left out
};

// `bytes` in any encoding (charset.h); `transport` is the charset of the Content-Type, or empty.
// What is not well-formed is repaired where possible: bare "&", HTML's entities, control
// characters, an end that is cut off. Error: INVALID_ARGUMENT without a field, when there is no
// root element or a limit is exceeded.
StatusOr<XmlNode> ParseXml(std::string_view bytes, std::string_view transport,
                           const XmlLimits& limits = {});

}  // namespace winnow
