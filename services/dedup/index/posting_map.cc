#include "services/dedup/index/posting_map.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace winnow::dedup::index {
namespace {

// Slots are filled to between 1/2 and 4/5.
constexpr uint32_t kSpare = 4;
uint32_t CapacityFor(uint32_t live) { return 2 * live + kSpare; }
bool IsFull(uint32_t used, uint32_t capacity) { return (used + 1) * 5 > capacity * 4; }

// Shards swept per new segment: all within 64 segments, long before segment numbers come round
// again.
constexpr size_t kSweptPerSegment = 1;

}  // namespace

PostingMap::PostingMap() : shards_(kShards) {}

void PostingMap::SetList(Slot& slot, List list) {
  slot.high = static_cast<uint32_t>(list >> 32);
  slot.low = list == 0 ? kEmptied : static_cast<uint32_t>(list);
}

void PostingMap::AddSegment(uint16_t number) {
  if (!arenas_.empty()) arenas_[arenas_.newest()].words.shrink_to_fit();
  arenas_.AddNewest(number);
  for (size_t i = 0; i < kSweptPerSegment; ++i) {
    Rebuild(shards_[sweep_]);
    sweep_ = (sweep_ + 1) % kShards;
  }
}

void PostingMap::DropOldestSegment() { arenas_.DropOldest(); }

void PostingMap::RemoveNewestSegment() { arenas_.DropNewest(); }

void PostingMap::Append(Token token, Posting posting) {
  Slot& slot = SlotFor(token);
  List list = ListOf(slot);
  if (list != 0 && !arenas_.IsLive(SegmentOf(list))) list = 0;
  const uint32_t packed = posting.Pack();
  const uint16_t newest = arenas_.newest();
  const List here = List{newest} << 48 | kPresent;
  if (list == 0) {
    SetList(slot, here | kSingle | packed);
    return;
  }
  if (SegmentOf(list) != newest) {
    SetList(slot, NewChunk(list, std::array{packed}, 1));
    return;
  }
  if (list & kSingle) {
    SetList(slot, NewChunk(0, std::array{static_cast<uint32_t>(list), packed}, 2));
    return;
  }
  uint32_t* chunk = arenas_[newest].words.data() + static_cast<uint32_t>(list);
  const uint32_t count = CountOf(chunk);
  const uint32_t capacity = CapacityOf(chunk);
  if (count < capacity) {
    chunk[kHeaderWords + count] = packed;
    chunk[1] += kOneCounted;
    return;
  }
  SetList(slot, NewChunk(list, std::array{packed}, std::min(capacity * 2, kMostPerChunk)));
}

PostingMap::List PostingMap::NewChunk(List before, std::span<const uint32_t> postings,
                                      uint32_t capacity) {
  const uint16_t newest = arenas_.newest();
  std::vector<uint32_t>& words = arenas_[newest].words;
  const auto offset = static_cast<uint32_t>(words.size());
  words.push_back(static_cast<uint32_t>(before));
  words.push_back(static_cast<uint32_t>(before >> 32) | capacity * kOneOfCapacity |
                  static_cast<uint32_t>(postings.size()) * kOneCounted);
  words.insert(words.end(), postings.begin(), postings.end());
  words.resize(words.size() + capacity - postings.size());
  return List{newest} << 48 | kPresent | offset;
}

void PostingMap::RemoveNewest(Token token) {
  Slot* slot = FindSlot(token);
  assert(slot != nullptr);
  const List list = ListOf(*slot);
  assert(list != 0 && SegmentOf(list) == arenas_.newest());
  if (list & kSingle) {
    SetList(*slot, 0);
    return;
  }
  std::vector<uint32_t>& words = arenas_[arenas_.newest()].words;
  const auto offset = static_cast<uint32_t>(list);
  uint32_t* chunk = words.data() + offset;
  chunk[1] -= kOneCounted;
  if (CountOf(chunk) != 0) return;
  SetList(*slot, ListBefore(chunk));
  if (offset + kHeaderWords + CapacityOf(chunk) == words.size()) words.resize(offset);
}

void PostingMap::Prefetch(Token token) const {
  const uint64_t mixed = Mix(token);
  const Shard& shard = shards_[mixed >> 58];
  const uint64_t home = (mixed >> 24 & 0xffffffff) * shard.capacity >> 32;
  __builtin_prefetch(shard.slots.get() + home);
}

PostingMap::Slot* PostingMap::FindSlot(Token token) const {
  const uint64_t mixed = Mix(token);
  const Shard& shard = shards_[mixed >> 58];
  if (shard.capacity == 0) return nullptr;
  auto at = static_cast<uint32_t>((mixed >> 24 & 0xffffffff) * shard.capacity >> 32);
  for (;;) {
    Slot& slot = shard.slots[at];
    if (slot.high == 0 && slot.low == kUnused) return nullptr;
    if (slot.token == token) return &slot;
    if (++at == shard.capacity) at = 0;
  }
}

PostingMap::List PostingMap::Find(Token token) const {
  const Slot* slot = FindSlot(token);
  return slot == nullptr ? 0 : ListOf(*slot);
}

void PostingMap::PrefetchList(List list) const {
  if (list == 0 || (list & kSingle) || !arenas_.IsLive(SegmentOf(list))) return;
  __builtin_prefetch(ChunkOf(list));
}

PostingMap::Slot& PostingMap::SlotFor(Token token) {
  const uint64_t mixed = Mix(token);
  Shard& shard = shards_[mixed >> 58];
  // Room first, so that one walk finds the token or the place for it.
  if (IsFull(shard.used, shard.capacity)) Rebuild(shard);
  auto at = static_cast<uint32_t>((mixed >> 24 & 0xffffffff) * shard.capacity >> 32);
  while (shard.slots[at].high != 0 || shard.slots[at].low != kUnused) {
    if (shard.slots[at].token == token) return shard.slots[at];
    if (++at == shard.capacity) at = 0;
  }
  ++shard.used;
  shard.slots[at] = {token, kEmptied, 0};
  return shard.slots[at];
}

void PostingMap::Rebuild(Shard& shard) {
  const auto is_kept = [this](const Slot& slot) {
    const List list = ListOf(slot);
    return list != 0 && arenas_.IsLive(SegmentOf(list));
  };
  const std::span<const Slot> old(shard.slots.get(), shard.capacity);
  const auto live = static_cast<uint32_t>(std::count_if(old.begin(), old.end(), is_kept));
  Shard fresh;
  fresh.capacity = CapacityFor(live);
  fresh.slots = std::make_unique<Slot[]>(fresh.capacity);
  fresh.used = live;
  for (const Slot& slot : old) {
    if (!is_kept(slot)) continue;
    auto at = static_cast<uint32_t>((Mix(slot.token) >> 24 & 0xffffffff) * fresh.capacity >> 32);
    while (fresh.slots[at].high != 0) {
      if (++at == fresh.capacity) at = 0;
    }
    fresh.slots[at] = slot;
  }
  shard = std::move(fresh);
}

size_t PostingMap::bytes() const {
  size_t total = shards_.capacity() * sizeof(Shard) + arenas_.places().size() * sizeof(Arena);
  for (const Shard& shard : shards_) total += shard.capacity * sizeof(Slot);
  for (const Arena& arena : arenas_.places()) total += arena.words.capacity() * sizeof(uint32_t);
  return total;
}

}  // namespace winnow::dedup::index
