#include "services/newsfeed/projection/projection.h"

#include <charconv>

#include "services/newsfeed/articles/article.h"

namespace winnow::newsfeed {
namespace {

std::string Join(std::string_view prefix, std::string_view name, std::string_view suffix = {}) {
  std::string key(prefix);
  key += name;
  key += suffix;
  return key;
}

bool ReadNumber(std::string_view& text, char end, int64_t& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto used = static_cast<size_t>(stop - text.data());
  if (error != std::errc() || used == text.size() || text[used] != end) return false;
  text.remove_prefix(used + 1);
  return true;
}

}  // namespace

std::string FeedKeyOf(std::string_view category) { return Join("news:feed:", category); }
std::string StagingKeyOf(std::string_view category) {
  return Join("{news:feed:", category, "}:next");
}
std::string StateKeyOf(std::string_view category) {
  return Join("{news:feed:", category, "}:state");
}
std::string MetaKeyOf(std::string_view category) { return Join("news:meta:", category); }
std::string LockKeyOf(std::string_view category) { return Join("news:lock:", category); }
std::string ArticleKeyOf(std::string_view id) { return Join("news:article:", id); }

std::string PackEntries(const std::vector<ProjectedEntry>& entries) {
  std::string text;
  for (const ProjectedEntry& entry : entries) {
    text += std::to_string(entry.key.publish_time.time_since_epoch().count()) + "_" + entry.key.id +
            " " + std::to_string(entry.seq) + " " + std::to_string(entry.revision) + "\n";
  }
  return text;
}

std::optional<std::vector<ProjectedEntry>> UnpackEntries(std::string_view text) {
  std::vector<ProjectedEntry> entries;
  while (!text.empty()) {
    ProjectedEntry entry;
    int64_t ms = 0;
    if (!ReadNumber(text, '_', ms)) return std::nullopt;
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    entry.key = {Millis(std::chrono::milliseconds(ms)), std::string(text.substr(0, space))};
    text.remove_prefix(space + 1);
    if (!IsArticleId(entry.key.id) || !ReadNumber(text, ' ', entry.seq) ||
        !ReadNumber(text, '\n', entry.revision)) {
      return std::nullopt;
    }
    if (!entries.empty() && entry.key >= entries.back().key) return std::nullopt;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Hash128Value ProjectionChecksum(const ProjectionState& state,
                                const std::vector<std::string_view>& articles) {
  std::string bytes = std::to_string(state.position) + " " + state.epoch + " " +
                      (state.whole ? "whole" : "part") + "\n" + PackEntries(state.entries);
  for (const std::string_view article : articles) {
    const Hash128Value hash = Hash128(article);
    bytes += std::to_string(hash.high) + " " + std::to_string(hash.low) + "\n";
  }
  return Hash128(bytes);
}

}  // namespace winnow::newsfeed
