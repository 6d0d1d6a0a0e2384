#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/dedup/text/fingerprint.h"
#include "services/platform/base/clock.h"

namespace winnow::dedup {

// Consecutive entries of a log, prepared for a window: texts are token sets already, so that the
// thread that owns the window has only the index to do. Filled by one thread, read by another.
class WindowPage {
 public:
  // What the store has of an entry. `lead`: its compared beginning, empty where it is not kept.
  struct Row {
    int64_t seq = 0;
    int64_t root_seq = 0;
    Time arrival;
    std::string_view channel;
    std::string_view title;  // normalised
    std::string_view lead;   // normalised
    std::string_view canonical_url;
    index::Vector vector = {};
  };
  // An entry as the window takes it; valid as long as the page.
  struct Entry {
    int64_t seq = 0;
    int64_t root_seq = 0;
    Time arrival;
    size_t channel = 0;  // place in channels()
    uint64_t url_hash = 0;
    uint64_t title_hash = 0;
    bool may_match_short_title = false;
    std::string_view text;
    std::span<const index::Token> title;
    std::span<const index::Token> lead;
    std::span<const int8_t> vector;

    bool is_root() const { return root_seq == seq; }
  };

  explicit WindowPage(const TextRules& rules) : rules_(rules) {}

  void Reserve(size_t rows);
  void Add(const Row& row);  // seqs ascend

  size_t size() const { return kept_.size(); }
  int64_t first_seq() const { return kept_.empty() ? 0 : kept_.front().seq; }
  const std::vector<std::string>& channels() const { return channels_; }
  // Calls visit(entry) for each, in order.
  template <class Visit>
  void ForEach(Visit&& visit) const;

 private:
  struct Kept {
    int64_t seq = 0;
    int64_t root_seq = 0;
    Time arrival;
    uint64_t url_hash = 0;
    uint64_t title_hash = 0;
    uint32_t channel = 0;
    bool may_match_short_title = false;
    // Ends of its parts; each begins where the entry before ends.
    uint32_t title_end = 0;
    uint32_t lead_end = 0;
    uint32_t text_end = 0;
    uint32_t vector_end = 0;
  };
  uint32_t ChannelPlace(std::string_view channel);

  const TextRules& rules_;
  TextRules::Scratch scratch_;
  std::vector<Kept> kept_;
  std::vector<index::Token> tokens_;  // title, lead, title, lead, ...
  std::string texts_;
  std::vector<int8_t> vectors_;
  std::vector<std::string> channels_;
  std::map<std::string, uint32_t, std::less<>> channel_places_;
};

template <class Visit>
void WindowPage::ForEach(Visit&& visit) const {
  Kept before;
  for (const Kept& kept : kept_) {
    const std::span<const index::Token> tokens(tokens_);
    visit(Entry{kept.seq, kept.root_seq, kept.arrival, kept.channel, kept.url_hash, kept.title_hash,
                kept.may_match_short_title,
                std::string_view(texts_).substr(before.text_end, kept.text_end - before.text_end),
                tokens.subspan(before.lead_end, kept.title_end - before.lead_end),
                tokens.subspan(kept.title_end, kept.lead_end - kept.title_end),
                std::span<const int8_t>(vectors_).subspan(before.vector_end,
                                                          kept.vector_end - before.vector_end)});
    before = kept;
  }
}

}  // namespace winnow::dedup
