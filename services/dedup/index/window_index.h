#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "services/dedup/index/token_index.h"
#include "services/dedup/index/vector_field.h"
#include "services/platform/base/clock.h"

namespace winnow::dedup::index {

// The first document of a story, as its duplicates remember it: also when it is older than the
// window.
struct Root {
  int64_t seq = 0;
  uint32_t channel = 0;
  std::span<const Token> title;
  std::span<const Token> lead = {};
  std::span<const int8_t> vector = {};  // empty: it has none
};

// A document as the window takes it.
struct NewEntry {
  int64_t seq = 0;  // above every earlier one
  Time arrival;     // not before any earlier one
  uint32_t channel = 0;
  uint64_t url_hash = 0;    // of the canonical URL; 0: none
  uint64_t title_hash = 0;  // of the normalised title; 0: none
  std::span<const Token> title;
  std::span<const Token> lead;          // may be empty: then it is never found by it
  std::optional<Root> root;             // of a duplicate
  std::string_view text = {};           // kept as it is, for rules that compare more than tokens
  std::span<const int8_t> vector = {};  // of its embedding; empty: it has none
};

// An entry whose embedding is near.
struct NearEntry {
  EntryRef ref;
  double cosine = 0;
};

struct WindowOptions {
  double floor = 0.5;     // the least title similarity that will be asked for
  double lead_floor = 0;  // of leads; 0: they are kept for comparison, and not found by
  // A segment ends after this time or this many entries.
  std::chrono::microseconds segment_span = std::chrono::hours(1);
  uint16_t segment_entries = 60'000;
};

// The documents of one namespace that later ones are compared with, in order of arrival. Not
// thread-safe; const members may run at the same time as each other.
class WindowIndex {
 public:
  explicit WindowIndex(const WindowOptions& options)
      : options_(options), titles_(options.floor), leads_(options.lead_floor) {}

  void Append(const NewEntry& entry);
  // Takes back the entries with seq > `last`. Only what was appended since the last Expire.
  void RemoveAfter(int64_t last);
  // Forgets segments that arrived wholly before `earliest`; constant time each.
  void Expire(Time earliest);
  // Forgets the oldest segment, to keep within memory. False when there is only one.
  bool DropOldestSegment();

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Arrival of the oldest entry kept. Not when empty.
  Time oldest_arrival() const;

  // The first entry that arrived at `earliest` or later: where a probe starts. None: nothing there.
  std::optional<EntryRef> EdgeAt(Time earliest) const;

  // The entry with `count` - 1 newer ones, `count` at least 1; the oldest when there are fewer. Not
  // when empty.
  EntryRef EntryFromNewest(size_t count) const;

  // The entry of this seq; none when it is not held.
  std::optional<EntryRef> FindSeq(int64_t seq) const;

  // Entries from `edge` on, in no order.
  void FindByUrl(uint64_t hash, EntryRef edge, std::vector<EntryRef>& found) const;
  void FindByTitle(uint64_t hash, EntryRef edge, std::vector<EntryRef>& found) const;
  // `bounds.threshold()` must not be below the floor.
  void FindSimilar(std::span<const Token> title, const Bounds& bounds, EntryRef edge,
                   ProbeScratch& scratch, std::vector<Match>& found) const {
    titles_.Probe(title, bounds, edge, scratch, found);
  }
  bool has_lead_index() const { return leads_.is_indexed(); }
  // The same by leads; `bounds.threshold()` must not be below the floor of leads.
  void FindSimilarLead(std::span<const Token> lead, const Bounds& bounds, EntryRef edge,
                       ProbeScratch& scratch, std::vector<Match>& found) const {
    leads_.Probe(lead, bounds, edge, scratch, found);
  }

  // Adds every entry whose vector has a cosine of at least `least` (above 0) with this one.
  void FindNear(std::span<const int8_t> vector, double least, EntryRef edge,
                std::vector<NearEntry>& found) const;
  // The entry's vector; empty where it has none.
  std::span<const int8_t> vector(EntryRef ref) const {
    return vectors_.VectorOf(ref.segment, ref.slot);
  }

  int64_t seq(EntryRef ref) const { return segments_[ref.segment].first_seq + ref.slot; }
  Time arrival(EntryRef ref) const { return meta(ref).arrival; }
  uint32_t channel(EntryRef ref) const { return meta(ref).channel; }
  uint64_t title_hash(EntryRef ref) const { return meta(ref).title_hash; }
  std::span<const Token> title(EntryRef ref) const { return titles_.tokens(ref); }
  std::span<const Token> lead(EntryRef ref) const { return leads_.tokens(ref); }
  std::string_view text(EntryRef ref) const;
  // The first of the entry's story; itself when it is unique.
  Root root(EntryRef ref) const;

  const Bounds& floor_bounds() const { return titles_.floor_bounds(); }
  const Bounds& lead_floor_bounds() const { return leads_.floor_bounds(); }
  size_t bytes() const;

 private:
  struct Meta {
    Time arrival;
    uint64_t url_hash = 0;
    uint64_t title_hash = 0;
    uint32_t channel = 0;
    uint32_t root = 0;  // 1 + index in the segment's roots; 0: itself
  };
  struct KeptRoot {
    int64_t seq = 0;
    uint32_t channel = 0;
    std::vector<Token> title;
    std::vector<Token> lead;
    Vector vector;
  };
  // Holds all that its entries need, so that dropping an older segment never asks who still does.
  struct Segment {
    int64_t first_seq = 0;
    std::vector<Meta> entries;
    std::string texts;
    std::vector<uint32_t> text_ends;  // by slot
    std::vector<KeptRoot> roots;
    std::unordered_map<int64_t, uint32_t> root_by_seq;
  };

  const Meta& meta(EntryRef ref) const { return segments_[ref.segment].entries[ref.slot]; }
  bool NeedsSegment(const NewEntry& entry) const;
  void AddSegment(int64_t first_seq);
  void DropOldest();
  void RemoveNewest();
  static KeptRoot Copy(const Root& root);
  uint32_t KeepRoot(KeptRoot root);
  // Lists are keyed by half the hash and confirmed by the whole.
  static Token KeyOf(uint64_t hash) { return static_cast<Token>(hash ^ hash >> 32); }
  template <uint64_t Meta::*kHash>
  void FindByHash(const PostingMap& map, uint64_t hash, EntryRef edge,
                  std::vector<EntryRef>& found) const;

  WindowOptions options_;
  TokenIndex titles_;
  TokenIndex leads_;
  VectorField vectors_;
  PostingMap by_url_;
  PostingMap by_title_;
  SegmentRing<Segment> segments_;
  uint16_t next_number_ = 0;
  size_t size_ = 0;
  int64_t last_seq_ = 0;
  Time last_arrival_{};
};

}  // namespace winnow::dedup::index
