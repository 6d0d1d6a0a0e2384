#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/collector/items/item.h"
#include "services/collector/sources/vendor.h"

// What is collected from where, and how often.
namespace winnow::collector {

inline constexpr size_t kMaxSourceId = 64;
inline constexpr size_t kMaxDisplayName = 200;
inline constexpr size_t kMaxQuery = 200;
inline constexpr int kMaxPages = 10;
inline constexpr std::chrono::seconds kMinInterval{60};
inline constexpr std::chrono::seconds kMaxInterval = std::chrono::hours(24 * 7);

enum class SourceKind { kNone, kNaver, kNewsData, kFeed };
const char* NameOf(SourceKind kind);  // "naver", "newsdata", "feed"

enum class SourceState { kNone, kActive, kPaused, kBlocked };

struct Source {
  std::string id;
  std::string ns;
  std::string display_name;
  SourceKind kind = SourceKind::kNone;
  std::string credential;  // of Naver and NewsData: its name in the configuration
  std::string query;
  std::string url;                                     // of a feed
  std::string country, language, category, timeframe;  // of NewsData
  std::string channel;                                 // of a feed: instead of the item's host
  int page_size = 0;
  int max_pages = 0;
  bool by_similarity = false;  // of Naver
  bool skip_images = false;
  std::vector<std::string> categories;
  std::chrono::seconds interval{0};
  std::chrono::seconds max_interval{0};

  // What the server keeps.
  SourceState state = SourceState::kActive;
  int64_t revision = 0;
  std::chrono::seconds current_interval{0};
  int failures = 0;
  std::string feed_etag, feed_modified;  // of a feed's last answer
  // Pages may be unread behind those that are known: the next run goes on past known items.
  bool unread_pages = true;
  Time create_time{}, update_time{}, next_run_time{};
  std::optional<Time> success_time;  // of the last run that was ok or partial
  std::string run_id;                // of the run that goes on; empty: none
  std::string requested_run_id;      // of the run that was asked for
};

// Fills in defaults, or adds every reason why the source is refused. `path`: "source".
void AcceptSource(Source& source, std::string_view path, Violations& violations);

// The id that an imported feed gets: the same for the same address.
std::string FeedSourceId(const std::string& url);

// How a run ended, as it is kept.
struct Run {
  std::string id;
  std::string source_id;
  std::string ns;
  SourceKind kind = SourceKind::kNone;
  bool requested = false;
  Outcome outcome = Outcome::kNone;
  std::string code;  // what went wrong, in the vendor's or our own words; never a text of an item
  Time begin_time{}, end_time{};
  int64_t calls = 0;  // to the vendor
  int64_t new_items = 0;
  int64_t known_items = 0;
  int64_t refused_items = 0;
  int64_t fetched_pages = 0;  // for pictures
  int64_t found_images = 0;
  int64_t position = 0;  // among all runs, once it has one
};

// Where the history of runs ends. In another epoch, as of a restored database, no position holds;
// there is none before the first run.
struct RunsHead {
  int64_t position = 0;
  std::string epoch;
};

}  // namespace winnow::collector
