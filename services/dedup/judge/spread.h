#pragma once

#include <map>
#include <set>
#include <string>

namespace winnow::dedup {

// Follows which channels report a story, to detect when it has spread as far as a policy asks.
class Spread {
 public:
  // `channels`: 0 for never.
  explicit Spread(int channels) : threshold_(static_cast<size_t>(channels)) {}

  bool is_asked_for() const { return threshold_ > 0; }
  // Channels that reported the story before, its original's own included.
  void Know(const std::string& original_id, std::set<std::string> channels) {
    stories_[original_id].merge(channels);
  }
  // Another report; the number of channels when it has just reached the threshold, else 0.
  int Report(const std::string& original_id, const std::string& channel) {
    std::set<std::string>& channels = stories_[original_id];
    const bool is_new = channels.insert(channel).second;
    return is_new && channels.size() == threshold_ ? static_cast<int>(threshold_) : 0;
  }

 private:
  size_t threshold_;
  std::map<std::string, std::set<std::string>> stories_;  // by original
};

}  // namespace winnow::dedup
