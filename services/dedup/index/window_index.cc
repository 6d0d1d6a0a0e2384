#include "services/dedup/index/window_index.h"

#include <algorithm>
#include <cassert>

namespace winnow::dedup::index {

bool WindowIndex::NeedsSegment(const NewEntry& entry) const {
  if (segments_.empty()) return true;
  const Segment& newest = segments_[segments_.newest()];
  return newest.entries.size() >= options_.segment_entries || entry.seq != last_seq_ + 1 ||
         entry.arrival - newest.entries.front().arrival >= options_.segment_span;
}

void WindowIndex::AddSegment(int64_t first_seq) {
  if (!segments_.empty()) {
    Segment& closed = segments_[segments_.newest()];
    closed.entries.shrink_to_fit();
    closed.texts.shrink_to_fit();
    closed.text_ends.shrink_to_fit();
  }
  if (segments_.size() == SegmentRing<Segment>::kMaxLive) DropOldest();
  segments_.AddNewest(next_number_).first_seq = first_seq;
  titles_.AddSegment(next_number_);
  leads_.AddSegment(next_number_);
  vectors_.AddSegment(next_number_);
  by_url_.AddSegment(next_number_);
  by_title_.AddSegment(next_number_);
  ++next_number_;
}

void WindowIndex::Append(const NewEntry& entry) {
  assert(entry.seq > last_seq_);
  assert(size_ == 0 || entry.arrival >= last_arrival_);
  // Its tokens may lie in this window's own memory, which the next lines may move.
  std::optional<KeptRoot> root;
  if (entry.root) root = Copy(*entry.root);
  if (NeedsSegment(entry)) AddSegment(entry.seq);
  Segment& segment = segments_[segments_.newest()];
  const auto slot = static_cast<uint16_t>(segment.entries.size());
  Meta meta{entry.arrival, entry.url_hash, entry.title_hash, entry.channel, 0};
  if (root) meta.root = KeepRoot(*std::move(root));
  segment.entries.push_back(meta);
  segment.texts += entry.text;
  segment.text_ends.push_back(static_cast<uint32_t>(segment.texts.size()));
  titles_.Append(entry.title);
  leads_.Append(entry.lead);
  vectors_.Append(entry.vector);
  if (entry.url_hash != 0) by_url_.Append(KeyOf(entry.url_hash), slot, 0, 0);
  if (entry.title_hash != 0) by_title_.Append(KeyOf(entry.title_hash), slot, 0, 0);
  ++size_;
  last_seq_ = entry.seq;
  last_arrival_ = entry.arrival;
}

WindowIndex::KeptRoot WindowIndex::Copy(const Root& root) {
  return {root.seq,
          root.channel,
          {root.title.begin(), root.title.end()},
          {root.lead.begin(), root.lead.end()},
          {root.vector.begin(), root.vector.end()}};
}

uint32_t WindowIndex::KeepRoot(KeptRoot root) {
  Segment& segment = segments_[segments_.newest()];
  const auto next = static_cast<uint32_t>(segment.roots.size() + 1);
  const auto [at, is_new] = segment.root_by_seq.try_emplace(root.seq, next);
  if (is_new) segment.roots.push_back(std::move(root));
  return at->second;
}

void WindowIndex::RemoveAfter(int64_t last) {
  while (size_ > 0 && last_seq_ > last) RemoveNewest();
}

void WindowIndex::RemoveNewest() {
  Segment& segment = segments_[segments_.newest()];
  const Meta& meta = segment.entries.back();
  if (meta.title_hash != 0) by_title_.RemoveNewest(KeyOf(meta.title_hash));
  if (meta.url_hash != 0) by_url_.RemoveNewest(KeyOf(meta.url_hash));
  vectors_.RemoveNewest();
  leads_.RemoveNewest();
  titles_.RemoveNewest();
  segment.text_ends.pop_back();
  segment.texts.resize(segment.text_ends.empty() ? 0 : segment.text_ends.back());
  segment.entries.pop_back();  // its root may stay: it goes with the segment
  --size_;
  if (segment.entries.empty()) {
    segments_.DropNewest();
    titles_.RemoveNewestSegment();
    leads_.RemoveNewestSegment();
    vectors_.RemoveNewestSegment();
    by_url_.RemoveNewestSegment();
    by_title_.RemoveNewestSegment();
    --next_number_;
  }
  last_seq_ = 0;
  if (size_ == 0) return;
  const Segment& newest = segments_[segments_.newest()];
  last_seq_ = newest.first_seq + static_cast<int64_t>(newest.entries.size()) - 1;
  last_arrival_ = newest.entries.back().arrival;
}

void WindowIndex::Expire(Time earliest) {
  while (!segments_.empty() && segments_[segments_.oldest()].entries.back().arrival < earliest) {
    DropOldest();
  }
}

bool WindowIndex::DropOldestSegment() {
  if (segments_.size() < 2) return false;
  DropOldest();
  return true;
}

void WindowIndex::DropOldest() {
  size_ -= segments_[segments_.oldest()].entries.size();
  segments_.DropOldest();
  titles_.DropOldestSegment();
  leads_.DropOldestSegment();
  vectors_.DropOldestSegment();
  by_url_.DropOldestSegment();
  by_title_.DropOldestSegment();
}

Time WindowIndex::oldest_arrival() const {
  assert(size_ > 0);
  return segments_[segments_.oldest()].entries.front().arrival;
}

std::optional<EntryRef> WindowIndex::EdgeAt(Time earliest) const {
  // Expire keeps the edge in one of the oldest segments.
  for (uint16_t i = 0; i < segments_.size(); ++i) {
    const auto number = static_cast<uint16_t>(segments_.oldest() + i);
    const std::vector<Meta>& entries = segments_[number].entries;
    if (entries.back().arrival < earliest) continue;
    const auto at = std::partition_point(entries.begin(), entries.end(),
                                         [&](const Meta& meta) { return meta.arrival < earliest; });
    return EntryRef{number, static_cast<uint16_t>(at - entries.begin())};
  }
  return std::nullopt;
}

EntryRef WindowIndex::EntryFromNewest(size_t count) const {
  assert(size_ > 0 && count > 0);
  for (uint16_t age = segments_.size(); age > 0; --age) {
    const auto number = static_cast<uint16_t>(segments_.oldest() + age - 1);
    const size_t held = segments_[number].entries.size();
    if (count <= held) return {number, static_cast<uint16_t>(held - count)};
    count -= held;
  }
  return {segments_.oldest(), 0};
}

std::optional<EntryRef> WindowIndex::FindSeq(int64_t seq) const {
  // The newest segment that does not begin after it: within one, seqs have no gaps.
  uint16_t low = 0;
  uint16_t high = segments_.size();
  while (low < high) {
    const auto middle = static_cast<uint16_t>(low + (high - low) / 2);
    const auto number = static_cast<uint16_t>(segments_.oldest() + middle);
    if (segments_[number].first_seq <= seq) {
      low = static_cast<uint16_t>(middle + 1);
    } else {
      high = middle;
    }
  }
  if (low == 0) return std::nullopt;
  const auto number = static_cast<uint16_t>(segments_.oldest() + low - 1);
  const int64_t slot = seq - segments_[number].first_seq;
  if (slot >= static_cast<int64_t>(segments_[number].entries.size())) return std::nullopt;
  return EntryRef{number, static_cast<uint16_t>(slot)};
}

template <uint64_t WindowIndex::Meta::*kHash>
void WindowIndex::FindByHash(const PostingMap& map, uint64_t hash, EntryRef edge,
                             std::vector<EntryRef>& found) const {
  map.ForEach(map.Find(KeyOf(hash)), edge, [&](EntryRef ref) {
    if (meta(ref).*kHash == hash) found.push_back(ref);
  });
}

void WindowIndex::FindByUrl(uint64_t hash, EntryRef edge, std::vector<EntryRef>& found) const {
  FindByHash<&Meta::url_hash>(by_url_, hash, edge, found);
}

void WindowIndex::FindByTitle(uint64_t hash, EntryRef edge, std::vector<EntryRef>& found) const {
  FindByHash<&Meta::title_hash>(by_title_, hash, edge, found);
}

Root WindowIndex::root(EntryRef ref) const {
  const Meta& of = meta(ref);
  if (of.root == 0) return {seq(ref), of.channel, title(ref), lead(ref), vector(ref)};
  const KeptRoot& kept = segments_[ref.segment].roots[of.root - 1];
  return {kept.seq, kept.channel, kept.title, kept.lead, kept.vector};
}

void WindowIndex::FindNear(std::span<const int8_t> vector, double least, EntryRef edge,
                           std::vector<NearEntry>& found) const {
  vectors_.ForEachNear(vector, least, edge.segment, edge.slot,
                       [&](uint16_t segment, uint16_t slot, double cosine) {
                         found.push_back({{segment, slot}, cosine});
                       });
}

std::string_view WindowIndex::text(EntryRef ref) const {
  const Segment& of = segments_[ref.segment];
  const uint32_t begin = ref.slot == 0 ? 0 : of.text_ends[ref.slot - 1U];
  return std::string_view(of.texts).substr(begin, of.text_ends[ref.slot] - begin);
}

size_t WindowIndex::bytes() const {
  // What the allocator and tree nodes add to each small block, roughly.
  constexpr size_t kNode = 64;
  size_t total = titles_.bytes() + leads_.bytes() + vectors_.bytes() + by_url_.bytes() +
                 by_title_.bytes() + segments_.places().size() * sizeof(Segment);
  for (const Segment& segment : segments_.places()) {
    total += segment.entries.capacity() * sizeof(Meta);
    total += segment.texts.capacity() + segment.text_ends.capacity() * sizeof(uint32_t);
    total += segment.roots.capacity() * sizeof(KeptRoot) + segment.root_by_seq.size() * kNode;
    for (const KeptRoot& root : segment.roots) {
      total += (root.title.capacity() + root.lead.capacity()) * sizeof(Token);
      total += root.vector.capacity();
    }
  }
  return total;
}

}  // namespace winnow::dedup::index
