#pragma once

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
// without touching the entry. Length and position are 255 where they are more.
struct Posting {
  uint16_t slot = 0;
  uint8_t length = 0;    // tokens of the entry
  uint8_t position = 0;  // of the token among them

  static constexpr uint32_t kMost = 255;
  uint32_t Pack() const { return uint32_t{slot} << 16 | uint32_t{length} << 8 | position; }
  static Posting Unpack(uint32_t packed) {
    return {static_cast<uint16_t>(packed >> 16), static_cast<uint8_t>(packed >> 8),
            static_cast<uint8_t>(packed)};
  }
};

// From tokens to the entries that hold them, over a window of segments: appended at the new end,
// dropped whole at the old end in constant time.
//
// A list is a single posting, or a chunk of postings that lies in the arena of one segment and
// names the list before it. Dropping a segment frees its arena; lists that lead there end there,
// because a segment that is not live is never followed. What the hash table still holds of them is
// swept a few shards per segment.
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

  void Append(Token token, Posting posting);
  // Takes back the newest posting of the token, which must be in the newest segment.
  void RemoveNewest(Token token);

  void Prefetch(Token token) const;
  List Find(Token token) const;
  void PrefetchList(List list) const;

  // Where the newest run of a list lies, in segments after the oldest live one; kEnded when there
  // is none.
  static constexpr uint16_t kEnded = SegmentRing<int>::kMostLive;
  uint16_t AgeOf(List list) const {
    if (list == 0 || !arenas_.IsLive(SegmentOf(list))) return kEnded;
    return arenas_.Age(SegmentOf(list));
  }
  // Calls visit(segment, packed postings, oldest first) for the newest run of a list that has not
  // ended, and gives the list before it.
  template <class Visit>
  List VisitRun(List list, Visit&& visit) const;
  // All runs from `age` on, newest first.
  template <class Visit>
  void ForEachRun(List list, uint16_t age, Visit&& visit) const {
    for (uint16_t at = AgeOf(list); at != kEnded && at >= age; at = AgeOf(list)) {
      list = VisitRun(list, visit);
    }
  }

  size_t bytes() const;

 private:
  struct Slot {
    Token token;
    uint32_t low;   // of the list; kUnused or kEmptied where high is 0
    uint32_t high;  // of the list
  };
  struct Shard {
    std::unique_ptr<Slot[]> slots;
    uint32_t capacity = 0;
    uint32_t used = 0;
  };
  struct Arena {
    std::vector<uint32_t> words;
  };

  // A list, from its highest bit: segment 16 bits, 14 bits of nothing, kSingle, kPresent, 32 bits
  // of posting or of offset in the arena. A chunk begins with the list before it, which has the
  // chunk's capacity and count in those 14 bits, and goes on with its postings.
  static constexpr List kPresent = List{1} << 32;
  static constexpr List kSingle = List{1} << 33;
  static constexpr uint32_t kHeaderWords = 2;
  static constexpr uint32_t kOneCounted = 1U << 2;     // in the higher word
  static constexpr uint32_t kOneOfCapacity = 1U << 9;  // likewise
  static constexpr uint32_t kSizeMask = 0x7f;
  static constexpr uint32_t kListMask = 0xffff0003;  // of the higher word
  static constexpr uint32_t kMostPerChunk = 62;
  static constexpr size_t kShards = 64;
  static constexpr uint32_t kUnused = 0;
  static constexpr uint32_t kEmptied = 1;

  static uint16_t SegmentOf(List list) { return static_cast<uint16_t>(list >> 48); }
  static uint64_t Mix(Token token) { return token * 0x9E3779B97F4A7C15ull; }
  static List ListOf(const Slot& slot) {
    return slot.high == 0 ? 0 : List{slot.high} << 32 | slot.low;
  }
  static void SetList(Slot& slot, List list);
  static uint32_t CountOf(const uint32_t* chunk) { return chunk[1] / kOneCounted & kSizeMask; }
  static uint32_t CapacityOf(const uint32_t* chunk) {
    return chunk[1] / kOneOfCapacity & kSizeMask;
  }
  static List ListBefore(const uint32_t* chunk) {
    return List{chunk[1] & kListMask} << 32 | chunk[0];
  }

  const uint32_t* ChunkOf(List list) const {
    return arenas_[SegmentOf(list)].words.data() + static_cast<uint32_t>(list);
  }

  Slot& SlotFor(Token token);
  Slot* FindSlot(Token token) const;
  List NewChunk(List before, std::span<const uint32_t> postings, uint32_t capacity);
  void Rebuild(Shard& shard);

  std::vector<Shard> shards_;
  SegmentRing<Arena> arenas_;
  size_t sweep_ = 0;
};

template <class Visit>
PostingMap::List PostingMap::VisitRun(List list, Visit&& visit) const {
  const uint16_t segment = SegmentOf(list);
  if (list & kSingle) {
    const auto packed = static_cast<uint32_t>(list);
    visit(segment, std::span<const uint32_t>(&packed, 1));
    return 0;
  }
  const uint32_t* chunk = ChunkOf(list);
  visit(segment, std::span<const uint32_t>(chunk + kHeaderWords, CountOf(chunk)));
  return ListBefore(chunk);
}

}  // namespace winnow::dedup::index
