#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/status.h"

namespace winnow::collector {

inline constexpr size_t kMaxOpmlBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxOpmlFeeds = 20'000;

struct OpmlFeed {
  std::string url;
  std::string title;
  std::vector<std::string> folders;  // the titles of the outlines around it, from outside in
};

struct RefusedOutline {
  std::string title;
  std::string url;  // the beginning of it
  std::string reason;
};
inline constexpr size_t kMaxRefusedOutlines = 100;  // reported per file

struct Opml {
  std::vector<OpmlFeed> feeds;           // each address once, as first seen
  size_t repeated = 0;                   // addresses that were there before
  size_t refused = 0;                    // outlines with an address that no source can have
  std::vector<RefusedOutline> refusals;  // the first of them
};

// A list of feeds in any of OPML's spellings. Error: INVALID_ARGUMENT without a field, for what is
// no OPML or has more than kMaxOpmlFeeds feeds.
StatusOr<Opml> ReadOpml(std::string_view bytes);

}  // namespace winnow::collector
