#pragma once

#include <chrono>
#include <compare>
#include <string>

#include "services/platform/base/clock.h"

namespace winnow::newsfeed {

// The feeds sort by whole milliseconds, so that the published cursor loses nothing.
using Millis = std::chrono::sys_time<std::chrono::milliseconds>;

// Position of an article in every feed it is in. Feeds are ordered by publish time, then by id in
// byte order, newest first.
struct FeedKey {
  Millis publish_time;
  std::string id;
  friend bool operator==(const FeedKey&, const FeedKey&) = default;
  friend auto operator<=>(const FeedKey&, const FeedKey&) = default;
};

}  // namespace winnow::newsfeed
