#include "services/newsfeed/feed/feed_query.h"

#include <algorithm>
#include <charconv>

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"

namespace winnow::newsfeed {
namespace {

using std::chrono::milliseconds;

constexpr uint8_t kTokenKind = 31;  // unique among the lists of Winnow
constexpr size_t kMaxEpoch = 128;
// Years 1 to 9999, which is what the store holds.
constexpr int64_t kFirstMillis = -62'135'596'800'000;
constexpr int64_t kLastMillis = 253'402'300'799'999;
constexpr int64_t kNow = -1;  // no watermark yet

class Digest {
 public:
  void Add(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  void Add(int64_t number) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>((number >> (8 * i)) & 0xFF);
  }
  void Add(std::vector<std::string> set) {
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    Add(static_cast<int64_t>(set.size()));
    for (const std::string& text : set) Add(text);
  }
  void Add(const std::optional<Time>& time) {
    Add(int64_t{time.has_value()});
    if (time) Add(int64_t{time->time_since_epoch().count()});
  }
  uint64_t Hash() const { return Hash64(bytes_); }

 private:
  std::string bytes_;
};

StatusOr<FeedKey> MakeKey(int64_t ms, std::string id) {
  if (ms < kFirstMillis || ms > kLastMillis) {
    return InvalidPageToken("names a time outside years 1 to 9999; start again without a token");
  }
  // The empty id stands before all others of its millisecond: a range filter's bound.
  if (!id.empty() && !IsArticleId(id)) {
    return InvalidPageToken("names no article id; start again without a token");
  }
  return FeedKey{Millis(milliseconds(ms)), std::move(id)};
}

// Tokens of ours begin with their version, never with a digit or "-".
bool LooksPublished(std::string_view token) {
  return !token.empty() && (token[0] == '-' || ('0' <= token[0] && token[0] <= '9'));
}

StatusOr<FeedPosition> ParsePublished(std::string_view token) {
  const auto malformed = [] {
    return InvalidPageToken(
        "is not a cursor of the form \"{publish_time in ms}_{id}\": list again without a token");
  };
  // Ids may hold underscores, numbers may not: the first one separates.
  const size_t underscore = token.find('_');
  if (underscore == std::string_view::npos || underscore + 1 == token.size()) return malformed();
  int64_t ms = 0;
  const char* end = token.data() + underscore;
  const auto [stop, error] = std::from_chars(token.data(), end, ms);
  if (error != std::errc() || stop != end) return malformed();
  WINNOW_ASSIGN_OR_RETURN(FeedKey key, MakeKey(ms, std::string(token.substr(underscore + 1))));
  FeedPosition position;
  position.before = std::move(key);
  return position;
}

}  // namespace

uint64_t HashFeed(std::string_view ns, std::string_view category, const FeedFilter& filter) {
  Digest digest;
  digest.Add(ns);
  digest.Add(category);
  digest.Add(filter.sources);
  digest.Add(filter.languages);
  digest.Add(filter.has_image ? int64_t{*filter.has_image} : int64_t{-1});
  digest.Add(filter.publish_time_from);
  digest.Add(filter.publish_time_until);
  if (!filter.keywords.empty()) digest.Add(ToQueryText(filter.keywords));
  return digest.Hash();
}

std::string EncodeFeedToken(const FeedPosition& position, uint64_t filter_hash) {
  PageTokenWriter writer(kTokenKind, filter_hash);
  writer.Add(int64_t{position.before.has_value()});
  if (position.before) {
    writer.Add(int64_t{position.before->publish_time.time_since_epoch().count()});
    writer.Add(std::string_view(position.before->id));
  }
  writer.Add(position.since).Add(position.until.value_or(kNow));
  writer.Add(std::string_view(position.epoch));
  if (position.tree) writer.Add(*position.tree);
  return std::move(writer).Finish();
}

StatusOr<FeedPosition> ParseFeedToken(std::string_view token, uint64_t filter_hash) {
  FeedPosition position;
  if (token.empty()) return position;
  if (LooksPublished(token)) return ParsePublished(token);
  WINNOW_ASSIGN_OR_RETURN(PageTokenReader reader,
                          PageTokenReader::Parse(token, kTokenKind, filter_hash));
  WINNOW_ASSIGN_OR_RETURN(const int64_t has_key, reader.ReadNumber());
  if (has_key == 1) {
    WINNOW_ASSIGN_OR_RETURN(const int64_t ms, reader.ReadNumber());
    WINNOW_ASSIGN_OR_RETURN(std::string id, reader.ReadText());
    WINNOW_ASSIGN_OR_RETURN(FeedKey key, MakeKey(ms, std::move(id)));
    position.before = std::move(key);
  }
  WINNOW_ASSIGN_OR_RETURN(position.since, reader.ReadNumber());
  WINNOW_ASSIGN_OR_RETURN(const int64_t until, reader.ReadNumber());
  WINNOW_ASSIGN_OR_RETURN(position.epoch, reader.ReadText());
  if (!reader.Finish().ok()) {  // older tokens lack it
    WINNOW_ASSIGN_OR_RETURN(position.tree, reader.ReadNumber());
  }
  WINNOW_RETURN_IF_ERROR(reader.Finish());
  const bool printable = std::all_of(position.epoch.begin(), position.epoch.end(),
                                     [](char c) { return 0x20 < c && c < 0x7F; });
  const bool ordered = until == kNow || position.since <= until;
  if ((has_key != 0 && has_key != 1) || position.since < 0 || until < kNow || !ordered ||
      position.epoch.size() > kMaxEpoch || !printable || position.tree.value_or(0) < 0) {
    return InvalidPageToken("is malformed; start again without a token, or use one as it came");
  }
  if (until != kNow) position.until = until;
  return position;
}

}  // namespace winnow::newsfeed
