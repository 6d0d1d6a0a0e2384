#include "services/dedup/log/window_page.h"

namespace winnow::dedup {
namespace {

// What rows of Korean headlines have about.
constexpr size_t kUsualTokens = 48;
constexpr size_t kUsualText = 128;

}  // namespace

void WindowPage::Reserve(size_t rows) {
  kept_.reserve(rows);
  tokens_.reserve(rows * kUsualTokens);
  texts_.reserve(rows * kUsualText);
}

void WindowPage::Add(const Row& row) {
  Kept kept;
  kept.seq = row.seq;
  kept.root_seq = row.root_seq;
  kept.arrival = row.arrival;
  kept.channel = ChannelPlace(row.channel);
  const TextRules::Appended print =
      rules_.AppendNormalized(row.title, row.lead, row.canonical_url, scratch_, tokens_);
  kept.url_hash = print.url_hash;
  kept.title_hash = print.title_hash;
  kept.may_match_short_title = print.may_match_short_title;
  kept.title_end = static_cast<uint32_t>(print.title_end);
  kept.lead_end = static_cast<uint32_t>(tokens_.size());
  texts_ += row.title;
  kept.text_end = static_cast<uint32_t>(texts_.size());
  vectors_.insert(vectors_.end(), row.vector.begin(), row.vector.end());
  kept.vector_end = static_cast<uint32_t>(vectors_.size());
  kept_.push_back(kept);
}

uint32_t WindowPage::ChannelPlace(std::string_view channel) {
  const auto known = channel_places_.find(channel);
  if (known != channel_places_.end()) return known->second;
  const auto place = static_cast<uint32_t>(channels_.size());
  channels_.emplace_back(channel);
  channel_places_.emplace(channel, place);
  return place;
}

}  // namespace winnow::dedup
