#pragma once

#include <optional>
#include <string>

#include "services/platform/clock.h"

namespace winnow::dedup {

// A text to be decided on, checked and with defaults filled in.
struct Document {
  std::string ns;  // namespace
  std::string id;  // may be empty where nothing is remembered
  std::string channel;
  std::string title;
  std::string text;
  std::string language;
  std::string url;
  std::optional<Time> publish_time;
  std::optional<Time> arrival_time;  // given by an import; otherwise the store's time
};

}  // namespace winnow::dedup
