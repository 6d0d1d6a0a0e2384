#include "services/dedup/index/posting_map.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace winnow::dedup::index {
namespace {

// Slots are filled to between 1/2 and 4/5: fuller ones are looked for longer, and emptier ones
// cost a small window, whose tokens mostly occur once, more memory than all its postings.
constexpr uint32_t kSpare = 2;
uint32_t CapacityFor(uint32_t live) { return 2 * live + kSpare; }
bool IsFull(uint32_t used, uint32_t capacity) { return (used + 1) * 5 > capacity * 4; }

// Shards swept per new segment: all within 64 segments, long before era numbers come round again.
constexpr size_t kSweptPerSegment = 1;

}  // namespace

PostingMap::PostingMap() : shards_(kShards) {}

void PostingMap::SetList(Slot& slot, List list) {
  slot.high = static_cast<uint16_t>(list >> 32);
  slot.low = list == 0 ? kEmptied : static_cast<uint32_t>(list);
}

void PostingMap::AddSegment(uint16_t number) {
  if (eras_.empty() || eras_[eras_.newest()].begun == kSegmentsPerEra) {
    if (!eras_.empty()) CloseEra();
    eras_.AddNewest(next_era_++).first_segment = number;
  }
  ++eras_[eras_.newest()].begun;
  for (size_t i = 0; i < kSweptPerSegment; ++i) {
    Rebuild(shards_[sweep_]);
    sweep_ = (sweep_ + 1) % kShards;
  }
}

void PostingMap::DropOldestSegment() {
  Era& oldest = eras_[eras_.oldest()];
  if (++oldest.dropped == oldest.begun) eras_.DropOldest();
}

void PostingMap::RemoveNewestSegment() {
  Era& newest = eras_[eras_.newest()];
  if (--newest.begun != newest.dropped) return;
  // Slots may still hold lists of segments that it dropped: then its number is not given again.
  if (newest.dropped == 0) --next_era_;
  eras_.DropNewest();
}

void PostingMap::Append(Token token, uint16_t slot, size_t length, size_t position) {
  Slot& held = SlotFor(token);
  const uint16_t newest = eras_.newest();
  const uint32_t packed =
      Posting{Posting::PlaceOf(eras_[newest].begun - 1U, slot),
              static_cast<uint32_t>(std::min<size_t>(length, Posting::kMaxLength)),
              static_cast<uint32_t>(std::min<size_t>(position, Posting::kMaxPosition))}
          .Pack();
  const List list = ListOf(held);
  if (!IsLive(list)) {
    SetList(held, ListAt(packed) | kSingle);
    return;
  }
  if (EraOf(list) != newest) {
    SetList(held, NewBlock(list, std::array{packed}, 0));
    return;
  }
  if (list & kSingle) {
    SetList(held, NewBlock(0, std::array{static_cast<uint32_t>(list), packed}, 1));
    return;
  }
  uint32_t* block = BlockOf(list);
  const uint32_t room = RoomOf(block);
  if (CountOf(block) == kRoom[room]) {
    if (room + 1 == kRoom.size()) {
      SetList(held, NewBlock(list, std::array{packed}, room));
      return;
    }
    const List larger =
        NewBlock(ListBefore(block), std::span(block + kHeaderWords, kRoom[room]), room + 1);
    LeaveBlock(list);
    SetList(held, larger);
    block = BlockOf(larger);
  }
  block[kHeaderWords + CountOf(block)] = packed;
  block[1] += kOneCounted;
}

PostingMap::List PostingMap::NewBlock(List before, std::span<const uint32_t> postings,
                                      uint32_t room) {
  const List list = ListAt(TakeBlock(room));
  uint32_t* block = BlockOf(list);
  block[0] = static_cast<uint32_t>(before);
  block[1] = static_cast<uint32_t>(before >> 32) | room * kOneOfRoom |
             static_cast<uint32_t>(postings.size()) * kOneCounted;
  std::copy(postings.begin(), postings.end(), block + kHeaderWords);
  return list;
}

uint32_t PostingMap::TakeBlock(uint32_t room) {
  Era& era = eras_[eras_.newest()];
  if (const uint32_t emptied = era.emptied[room]; emptied != 0) {
    const uint32_t offset = emptied - 1;
    era.emptied[room] = *era.WordAt(offset);
    return offset;
  }
  const uint32_t size = kHeaderWords + kRoom[room];
  if (era.size - era.end < size) {
    // A closed era that is the newest again has a shorter last page, but not in offsets.
    era.end = static_cast<uint32_t>(era.pages.size()) * kPageWords;
    era.size = era.end + kPageWords;
    era.pages.push_back(std::make_unique_for_overwrite<uint32_t[]>(kPageWords));
  }
  return std::exchange(era.end, era.end + size);
}

void PostingMap::CloseEra() {
  Era& era = eras_[eras_.newest()];
  era.pages.shrink_to_fit();
  if (era.pages.empty()) return;
  const auto left = static_cast<uint32_t>(era.end - (era.pages.size() - 1) * kPageWords);
  auto shrunk = std::make_unique_for_overwrite<uint32_t[]>(left);
  std::copy_n(era.pages.back().get(), left, shrunk.get());
  era.pages.back() = std::move(shrunk);
  era.size = era.end;
}

void PostingMap::LeaveBlock(List list) {
  uint32_t* block = BlockOf(list);
  block[0] =
      std::exchange(eras_[eras_.newest()].emptied[RoomOf(block)], static_cast<uint32_t>(list) + 1);
}

void PostingMap::RemoveNewest(Token token) {
  Slot* slot = FindSlot(token);
  assert(slot != nullptr);
  const List list = ListOf(*slot);
  assert(list != 0 && EraOf(list) == eras_.newest());
  if (list & kSingle) {
    SetList(*slot, 0);
    return;
  }
  uint32_t* block = BlockOf(list);
  block[1] -= kOneCounted;
  if (CountOf(block) != 0) return;
  SetList(*slot, ListBefore(block));
  LeaveBlock(list);
}

void PostingMap::Prefetch(Token token) const {
  const uint64_t mixed = Mix(token);
  const Shard& shard = shards_[mixed >> 58];
  const uint64_t home = (mixed >> 24 & 0xffffffff) * shard.capacity >> 32;
  const Slot* slot = shard.slots.get() + home;
  __builtin_prefetch(slot);
  __builtin_prefetch(slot + 64 / sizeof(Slot));
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
  if ((list & kSingle) || !IsLive(list)) return;
  // Most are within two cache lines; what follows the processor fetches by itself.
  const uint32_t* block = BlockOf(list);
  __builtin_prefetch(block);
  __builtin_prefetch(block + 16);
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
    if (!IsLive(list)) return false;
    // Most lists are one posting, and gone with its segment, before its era.
    const uint32_t segment = Posting::Unpack(slot.low).place >> 16;
    return !(list & kSingle) || segment >= eras_[EraOf(list)].dropped;
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
  size_t total = shards_.capacity() * sizeof(Shard) + eras_.places().size() * sizeof(Era);
  for (const Shard& shard : shards_) total += shard.capacity * sizeof(Slot);
  for (const Era& era : eras_.places()) {
    total += era.size * sizeof(uint32_t);
    total += era.pages.capacity() * sizeof(era.pages[0]);
  }
  return total;
}

}  // namespace winnow::dedup::index
