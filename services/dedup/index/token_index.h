#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/dedup/index/bounds.h"
#include "services/dedup/index/overlap.h"
#include "services/dedup/index/posting_map.h"

namespace winnow::dedup::index {

// An entry that reaches the threshold.
struct Match {
  EntryRef ref;
  uint32_t overlap = 0;  // tokens shared
  uint32_t length = 0;   // tokens of the entry
};

// Working memory of a probe, reused from one to the next. One per thread.
class ProbeScratch {
 private:
  friend class TokenIndex;
  // An entry of the era being read that shares tokens of both prefixes. Small, as there are many.
  struct Candidate {
    uint32_t place = 0;
    uint32_t position = 0;       // of the last of those tokens in the probing set
    uint8_t entry_position = 0;  // of it in the entry, if not saturated
    uint8_t length = 0;          // of the entry, if not saturated
    uint8_t hits = 0;            // shared tokens so far; never more than an unsaturated length
  };
  // One that may reach the threshold with what lies behind its last hit.
  struct Hopeful {
    EntryRef ref;
    Candidate seen;
    std::span<const Token> tokens;
  };
  // A list that is read era by era.
  struct Pending {
    PostingMap::List list = 0;
    uint32_t position = 0;  // of its token in the probing set
    uint16_t age = 0;       // where its newest block lies
  };
  struct Seen {
    uint32_t place = 0;
    uint32_t round = 0;
    uint32_t candidate = 0;
  };

  void Clear();
  // Candidates of another era begin.
  void BeginEra();
  // Whether this era has any candidate yet.
  bool has_begun() const { return !candidates_.empty(); }
  // That the entry shares a token. The first one has to allow for enough of them to follow.
  void Hit(const Posting& posting, uint32_t position, bool may_begin);
  Seen& SeenFor(uint32_t place);
  void Grow();

  std::vector<Pending> pending_;
  std::vector<Hopeful> hopefuls_;
  std::vector<Candidate> candidates_;
  std::vector<Seen> seen_ =
      std::vector<Seen>(256);  // an open-addressing set, emptied by the next round
  uint32_t round_ = 0;
};

// The exact index of one text field over a window of segments: finds every entry whose Jaccard
// similarity to a text reaches a threshold, none is missed. Entries are token sets, ascending in
// the frozen order (rare first), so that a short prefix of each is enough to find all partners
// (prefix filter), and most of what is found is ruled out by length and position alone.
class TokenIndex {
 public:
  // `floor`: the least threshold that will be asked for, within (0, 1]; 0 keeps the entries without
  // making them findable.
  explicit TokenIndex(double floor) : floor_(floor > 0 ? floor : 1), is_indexed_(floor > 0) {}

  bool is_indexed() const { return is_indexed_; }
  double floor() const { return floor_.threshold(); }
  const Bounds& floor_bounds() const { return floor_; }

  void AddSegment(uint16_t number);
  void DropOldestSegment();
  void RemoveNewestSegment();

  // The entry takes the next slot of the newest segment. Empty sets are kept, never found.
  void Append(std::span<const Token> tokens);
  // Takes back the newest entry of the newest segment.
  void RemoveNewest();

  std::span<const Token> tokens(EntryRef ref) const;

  // Adds to `matches`, in no order, every entry from `edge` on with Jaccard >= bounds.threshold(),
  // which must not be below the floor.
  void Probe(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
             ProbeScratch& scratch, std::vector<Match>& matches) const;

  size_t bytes() const;

 private:
  struct Segment {
    std::vector<Token> tokens;
    std::vector<uint32_t> ends;  // by slot, in tokens
  };

  void FindCandidates(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
                      ProbeScratch& scratch) const;
  void KeepHopeful(uint32_t length, const Bounds& bounds, uint16_t first_segment,
                   ProbeScratch& scratch) const;

  // How many tokens of an entry have postings.
  uint32_t IndexedPrefix(size_t length) const {
    return is_indexed_ ? floor_.PrefixLength(static_cast<uint32_t>(length)) : 0;
  }

  Bounds floor_;
  bool is_indexed_;
  PostingMap postings_;
  SegmentRing<Segment> segments_;
};

}  // namespace winnow::dedup::index
