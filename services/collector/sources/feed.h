#pragma once

#include <string>
#include <string_view>

#include "services/collector/sources/vendor.h"

// RSS 0.9x and 2.0, RSS 1.0 (RDF) and Atom, as they are found.
namespace winnow::collector {

inline constexpr size_t kMaxFeedBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxFeedEntries = 2'000;  // of one document; the rest counts as refused

struct FeedOptions {
  std::string url;      // where the feed is: what relative links are relative to
  std::string charset;  // of the Content-Type, or empty
};

struct Feed {
  std::string title;
  std::string language;
  Page page;
};

// Error: INVALID_ARGUMENT without a field, for what is not a feed. An entry's identity is its GUID
// where that says more than its link, else the link.
StatusOr<Feed> ReadFeed(std::string_view bytes, const FeedOptions& options);

}  // namespace winnow::collector
