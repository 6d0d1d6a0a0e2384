#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "services/platform/base/clock.h"
#include "services/platform/base/status.h"

namespace winnow::dedup {

inline constexpr std::string_view kDefaultNamespace = "default";

// Lengths are in characters (Unicode code points).
inline constexpr size_t kMaxId = 128;
inline constexpr size_t kMaxChannel = 128;
inline constexpr size_t kMaxTitle = 1'000;
inline constexpr size_t kMaxText = 20'000;
inline constexpr size_t kMaxLanguage = 35;
inline constexpr size_t kMaxUrl = 2'048;

// A text to be decided on.
struct Document {
  std::string ns;
  std::string id;
  std::string channel;
  std::string title;
  std::string text;
  std::string language;
  std::string url;
  std::string canonical_url;
  std::optional<Time> publish_time;
  std::optional<Time> arrival_time;  // given by an import; otherwise the store's time
};

// Whether the document is remembered, and so needs an id.
enum class IdRule { kRequired, kOptional };

// Makes what a caller sent an acceptable document: fills in namespace and canonical URL,
// or adds every reason why it is refused. `path` is the document in the request, e.g. "document".
void Accept(Document& document, IdRule rule, std::string_view path, Violations& violations);

// A violation of `field` where the text has more than `limit` characters or holds what cannot be
// stored.
void CheckText(std::string_view text, size_t limit, std::string field, Violations& violations);
// A violation of `field` unless it is a namespace.
void CheckNamespace(std::string_view ns, std::string field, Violations& violations);
// A violation of `field` unless it can be a document's id.
void CheckId(std::string_view id, std::string field, Violations& violations);

}  // namespace winnow::dedup
