#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/platform/base/clock.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/status.h"

// What an item is, when it is acceptable, and when two are the same.
namespace winnow::collector {

inline constexpr size_t kMaxBatch = 1'000;
inline constexpr std::string_view kDefaultNamespace = "default";

// Lengths are in characters (Unicode code points).
inline constexpr size_t kMaxChannel = 128;
inline constexpr size_t kMaxExternalId = 512;
inline constexpr size_t kMaxUrl = 2'048;
inline constexpr size_t kMaxTitle = 1'000;
inline constexpr size_t kMaxSnippet = 20'000;
inline constexpr size_t kMaxLanguage = 35;
inline constexpr size_t kMaxChannelName = 200;
inline constexpr size_t kMaxCategories = 32;
inline constexpr size_t kMaxKeywords = 64;
inline constexpr size_t kMaxAiTags = 64;
inline constexpr size_t kMaxWord = 100;  // of a category, keyword or tag

// A raw item: one channel's report of an article, post or comment.
struct Item {
  std::string id;
  std::string ns;
  std::string channel;
  std::string external_id;
  std::string url;
  std::string canonical_url;
  std::string title;
  std::string snippet;
  std::string language;
  std::string channel_name;
  std::string channel_icon_url;
  std::string image_url;
  std::string video_url;
  std::vector<std::string> source_categories;
  std::vector<std::string> keywords;
  std::vector<std::string> ai_tags;
  std::optional<Time> publish_time;  // these two are always set once it is accepted
  std::optional<Time> arrival_time;
  bool publish_time_assumed = false;  // it is the arrival time, for want of another
  Time create_time{};
};

// What is stored of an item that was put, and whether that put stored it.
struct PutItem {
  Item item;
  bool created = false;
};

// Makes what a caller sent an acceptable item as of `now`: fills in namespace, canonical URL,
// language and times, or adds every reason why it is refused. `path` is the item in the request,
// e.g. "items[3]".
void Accept(Item& item, Time now, std::string_view path, Violations& violations);

// A violation of `field` unless it is a namespace.
void CheckNamespace(std::string_view ns, std::string field, Violations& violations);
// A violation of `field` when it is longer than `limit` or holds what cannot be stored.
void CheckText(std::string_view text, size_t limit, std::string_view field, Violations& violations);

// Hash of what makes an accepted item the one it is: namespace, channel, and its id at the source
// or else its canonical URL.
Hash128Value IdentityOf(const Item& item);
// What the hash stands for, compared in full.
bool IsSame(const Item& a, const Item& b);

}  // namespace winnow::collector
