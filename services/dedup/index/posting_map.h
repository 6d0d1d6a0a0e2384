#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "services/dedup/index/overlap.h"
#include "services/dedup/index/segment_ring.h"

namespace winnow::dedup::index {

// Where an entry lies: the running number of its segment, modulo 2^16, and its place in it.
struct EntryRef {
  uint16_t segment = 0;
  uint16_t slot = 0;
  friend bool operator==(const EntryRef&, const EntryRef&) = default;
};

// That an entry holds a token: what the filters need is inside, so that most are passed over
// without touching the entry. Length and position are the most they can be where they are more.
struct Posting {
  uint32_t place = 0;     // of the entry: its segment, counted from the era's first, and its slot
  uint32_t length = 0;    // tokens of the entry
  uint32_t position = 0;  // of the token among them

  static constexpr uint32_t kMaxLength = 127;
  static constexpr uint32_t kMaxPosition = 63;
  static uint32_t PlaceOf(uint32_t segment, uint16_t slot) { return segment << 16 | slot; }
  uint32_t Pack() const { return place << 13 | length << 6 | position; }
  static Posting Unpack(uint32_t packed) {
    return {packed >> 13, packed >> 6 & kMaxLength, packed & kMaxPosition};
  }
};

// From tokens to the entries that hold them, over a window of segments: appended at the new end,
// dropped at the old end in constant time.
//
// A list is a single posting, or a block of postings one after the other. Postings of eight
// segments, an era, share a block, which moves to a larger one when it is full, so that a list is
// read from one place an era and not from one a segment. A block names the list before it, of an
// older era. The memory of an era is freed when its last segment is dropped; lists that lead there
// end there, because an era that is not live is never followed. What the hash table still holds of
// them is swept a few shards per segment.
class PostingMap {
 public:
  // 0 is the empty list.
  using List = uint64_t;

  PostingMap();

  // A segment begins: postings go there from now on.
  void AddSegment(uint16_t number);
  void DropOldestSegment();
  // The newest segment, emptied by RemoveNewest, is taken back.
  void RemoveNewestSegment();

  // The entry is in the newest segment; more than the most of length and position is cut to it.
  void Append(Token token, uint16_t slot, size_t length, size_t position);
  // Takes back the newest posting of the token, which must be in the newest segment.
  void RemoveNewest(Token token);

  void Prefetch(Token token) const;
  List Find(Token token) const;
  void PrefetchList(List list) const;

  // Where the newest block of a list lies, in eras after the oldest live one; kEnded when there is
  // none.
  static constexpr uint16_t kEnded = SegmentRing<int>::kMaxLive;
  uint16_t AgeOf(List list) const { return IsLive(list) ? eras_.Age(EraOf(list)) : kEnded; }
  // The era of a live segment.
  uint16_t EraAgeOf(uint16_t segment) const {
    const Era& oldest = eras_[eras_.oldest()];
    return static_cast<uint16_t>(segment - oldest.first_segment) / kSegmentsPerEra;
  }
  // The first segment of a live era.
  uint16_t FirstSegment(uint16_t age) const {
    return eras_[static_cast<uint16_t>(eras_.oldest() + age)].first_segment;
  }
  static EntryRef RefOf(uint16_t first_segment, uint32_t place) {
    return {static_cast<uint16_t>(first_segment + (place >> 16)), static_cast<uint16_t>(place)};
  }
  static uint32_t PlaceIn(uint16_t first_segment, EntryRef ref) {
    return Posting::PlaceOf(static_cast<uint16_t>(ref.segment - first_segment), ref.slot);
  }
  // Calls visit(packed postings, oldest first) for the newest block of a list that has not ended,
  // and gives the list before it.
  template <class Visit>
  List VisitBlock(List list, Visit&& visit) const;
  // Calls visit(entry) for all from `edge` on, which is in a live segment.
  template <class Visit>
  void ForEach(List list, EntryRef edge, Visit&& visit) const;

  size_t bytes() const;

 private:
  // Packed, as the table is most of a small window's memory.
  struct [[gnu::packed]] Slot {
    Token token;
    uint32_t low;   // of the list; kUnused or kEmptied where high is 0
    uint16_t high;  // of the list
  };
  struct Shard {
    std::unique_ptr<Slot[]> slots;
    uint32_t capacity = 0;
    uint32_t used = 0;
  };
  // Room of blocks, in postings: of 1, 2, 3, and then half as much again and twice as much.
  static constexpr std::array<uint32_t, 16> kRoom = {1,  2,  3,  4,  6,  8,   12,  16,
                                                     24, 32, 48, 64, 96, 128, 192, 256};
  // Memory is taken a page at a time, so that nothing is ever moved to make room. Smaller pages
  // make the end of an era long: each is freed by itself.
  static constexpr uint32_t kPageWords = 4096;
  struct Era {
    uint16_t first_segment = 0;
    uint16_t begun = 0;    // segments
    uint16_t dropped = 0;  // of those
    uint32_t end = 0;      // of what was ever used, in words
    uint32_t size = 0;     // of all pages, in words
    std::vector<std::unique_ptr<uint32_t[]>> pages;
    uint32_t* WordAt(uint32_t offset) const {
      return pages[offset / kPageWords].get() + offset % kPageWords;
    }
    std::array<uint32_t, kRoom.size()> emptied{};  // 1 + a block left, by room; the next is in it
  };

  // A list, from bit 47 down: era modulo 2^14, kSingle, kPresent, 32 bits of posting or of offset
  // in the era. A block begins with the list before it, which has the block's room (an index) and
  // count above it, and goes on with its postings.
  static constexpr List kPresent = List{1} << 32;
  static constexpr List kSingle = List{1} << 33;
  static constexpr int kEraShift = 34;
  static constexpr uint16_t kEraMask = (1U << 14) - 1;  // live are 2^12 at most
  static constexpr uint32_t kHeaderWords = 2;
  static constexpr uint32_t kListMask = 0xffff;      // of the higher word
  static constexpr uint32_t kOneCounted = 1U << 16;  // in the higher word
  static constexpr uint32_t kCountMask = 0x3ff;
  static constexpr uint32_t kOneOfRoom = 1U << 26;  // likewise
  static constexpr size_t kShards = 64;
  static constexpr uint16_t kSegmentsPerEra = 8;  // as a place has bits for
  static constexpr uint32_t kUnused = 0;
  static constexpr uint32_t kEmptied = 1;

  uint16_t EraOf(List list) const {
    const uint16_t oldest = eras_.oldest();
    return static_cast<uint16_t>(oldest + (((list >> kEraShift) - oldest) & kEraMask));
  }
  // In the newest era.
  List ListAt(uint32_t low) const {
    return List{eras_.newest() & uint32_t{kEraMask}} << kEraShift | kPresent | low;
  }
  bool IsLive(List list) const { return list != 0 && eras_.IsLive(EraOf(list)); }
  static uint64_t Mix(Token token) { return token * 0x9E3779B97F4A7C15ull; }
  static List ListOf(const Slot& slot) {
    return slot.high == 0 ? 0 : List{slot.high} << 32 | slot.low;
  }
  static void SetList(Slot& slot, List list);
  static uint32_t CountOf(const uint32_t* block) { return block[1] / kOneCounted & kCountMask; }
  static uint32_t RoomOf(const uint32_t* block) { return block[1] / kOneOfRoom; }
  static List ListBefore(const uint32_t* block) {
    return List{block[1] & kListMask} << 32 | block[0];
  }
  uint32_t* BlockOf(List list) const {
    return eras_[EraOf(list)].WordAt(static_cast<uint32_t>(list));
  }

  Slot& SlotFor(Token token);
  Slot* FindSlot(Token token) const;
  // A block with these postings in it, in the newest era.
  List NewBlock(List before, std::span<const uint32_t> postings, uint32_t room);
  uint32_t TakeBlock(uint32_t room);
  void LeaveBlock(List list);
  // Nothing more goes into the newest era.
  void CloseEra();
  void Rebuild(Shard& shard);

  std::vector<Shard> shards_;
  SegmentRing<Era> eras_;
  uint16_t next_era_ = 0;
  size_t sweep_ = 0;
};

template <class Visit>
PostingMap::List PostingMap::VisitBlock(List list, Visit&& visit) const {
  if (list & kSingle) {
    const auto packed = static_cast<uint32_t>(list);
    visit(std::span<const uint32_t>(&packed, 1));
    return 0;
  }
  const uint32_t* block = BlockOf(list);
  visit(std::span<const uint32_t>(block + kHeaderWords, CountOf(block)));
  return ListBefore(block);
}

template <class Visit>
void PostingMap::ForEach(List list, EntryRef edge, Visit&& visit) const {
  const uint16_t edge_age = EraAgeOf(edge.segment);
  for (uint16_t age = AgeOf(list); age != kEnded && age >= edge_age; age = AgeOf(list)) {
    const uint16_t first_segment = FirstSegment(age);
    const uint32_t least = age == edge_age ? PlaceIn(first_segment, edge) : 0;
    list = VisitBlock(list, [&](std::span<const uint32_t> block) {
      for (const uint32_t packed : block) {
        const uint32_t place = Posting::Unpack(packed).place;
        if (place >= least) visit(RefOf(first_segment, place));
      }
    });
  }
}

}  // namespace winnow::dedup::index
