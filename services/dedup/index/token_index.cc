#include "services/dedup/index/token_index.h"

#include <algorithm>
#include <cassert>

namespace winnow::dedup::index {

void TokenIndex::AddSegment(uint16_t number) {
  if (!segments_.empty()) {
    Segment& closed = segments_[segments_.newest()];
    closed.tokens.shrink_to_fit();
    closed.ends.shrink_to_fit();
  }
  segments_.AddNewest(number);
  postings_.AddSegment(number);
}

void TokenIndex::DropOldestSegment() {
  segments_.DropOldest();
  postings_.DropOldestSegment();
}

void TokenIndex::RemoveNewestSegment() {
  assert(segments_[segments_.newest()].ends.empty());
  segments_.DropNewest();
  postings_.RemoveNewestSegment();
}

void TokenIndex::Append(std::span<const Token> tokens) {
  Segment& segment = segments_[segments_.newest()];
  const size_t slot = segment.ends.size();
  assert(slot < 1U << 16);
  const uint32_t prefix = IndexedPrefix(tokens.size());
  for (uint32_t i = 0; i < prefix; ++i) postings_.Prefetch(tokens[i]);
  for (uint32_t i = 0; i < prefix; ++i) {
    postings_.Append(tokens[i], static_cast<uint16_t>(slot), tokens.size(), i);
  }
  segment.tokens.insert(segment.tokens.end(), tokens.begin(), tokens.end());
  segment.ends.push_back(static_cast<uint32_t>(segment.tokens.size()));
}

void TokenIndex::RemoveNewest() {
  Segment& segment = segments_[segments_.newest()];
  assert(!segment.ends.empty());
  const EntryRef ref{segments_.newest(), static_cast<uint16_t>(segment.ends.size() - 1)};
  const std::span<const Token> held = tokens(ref);
  for (uint32_t i = IndexedPrefix(held.size()); i > 0; --i) {
    postings_.RemoveNewest(held[i - 1]);
  }
  segment.tokens.resize(segment.tokens.size() - held.size());
  segment.ends.pop_back();
}

std::span<const Token> TokenIndex::tokens(EntryRef ref) const {
  const Segment& of = segments_[ref.segment];
  const uint32_t begin = ref.slot == 0 ? 0 : of.ends[ref.slot - 1U];
  return std::span(of.tokens).subspan(begin, of.ends[ref.slot] - begin);
}

inline ProbeScratch::Seen& ProbeScratch::SeenFor(uint32_t place) {
  size_t at = (place * 0x9E3779B97F4A7C15ull >> 40) & (seen_.size() - 1);
  while (seen_[at].round == round_ && seen_[at].place != place) at = (at + 1) & (seen_.size() - 1);
  return seen_[at];
}

inline void ProbeScratch::Hit(const Posting& posting, uint32_t position, bool may_begin) {
  Seen& seen = SeenFor(posting.place);
  const auto entry_position = static_cast<uint8_t>(posting.position);
  if (seen.round == round_) {
    Candidate& known = candidates_[seen.candidate];
    ++known.hits;
    known.position = position;
    known.entry_position = entry_position;
  } else if (may_begin) {
    seen = {posting.place, round_, static_cast<uint32_t>(candidates_.size())};
    candidates_.push_back(
        {posting.place, position, entry_position, static_cast<uint8_t>(posting.length), 1});
    if (seen_.size() < 2 * (candidates_.size() + 1)) Grow();
  }
}

void TokenIndex::FindCandidates(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
                                ProbeScratch& scratch) const {
  const auto length = static_cast<uint32_t>(tokens.size());
  const uint32_t prefix = bounds.PrefixLength(length);
  for (uint32_t i = 0; i < prefix; ++i) postings_.Prefetch(tokens[i]);
  const uint16_t edge_age = postings_.EraAgeOf(edge.segment);
  std::vector<ProbeScratch::Pending>& pending = scratch.pending_;
  pending.clear();
  const auto is_over = [&](uint16_t age) { return age == PostingMap::kEnded || age < edge_age; };
  uint16_t next_age = 0;
  for (uint32_t i = 0; i < prefix; ++i) {
    const PostingMap::List list = postings_.Find(tokens[i]);
    const uint16_t age = postings_.AgeOf(list);
    if (is_over(age)) continue;
    postings_.PrefetchList(list);
    pending.push_back({list, i, age});
    next_age = std::max(next_age, age);
  }
  uint32_t position = 0;
  uint32_t first_place = 0;
  const auto visit = [&](std::span<const uint32_t> block) {
    for (const uint32_t packed : block) {
      const Posting posting = Posting::Unpack(packed);
      if (posting.place < first_place) continue;
      // A saturated length asks for less than the real one does, and its position says nothing.
      const bool is_exact = posting.length != Posting::kMaxLength;
      const uint32_t least = bounds.LeastOverlap(length, posting.length);
      if (is_exact && least > std::min<uint32_t>(length, posting.length)) continue;
      // A pair's first shared token bounds what can be shared by what follows it on either side.
      const bool may_begin =
          position + least <= length && (!is_exact || posting.position + least <= posting.length);
      if (may_begin || scratch.has_begun()) scratch.Hit(posting, position, may_begin);
    }
  };
  // Era by era, and the lists of each in order: so every shared token of both prefixes is counted
  // once, the first one first. Lists lie all over memory: the next block of each is fetched while
  // the others are read.
  while (!pending.empty()) {
    const uint16_t age = next_age;
    const uint16_t first_segment = postings_.FirstSegment(age);
    first_place = age == edge_age ? PostingMap::PlaceIn(first_segment, edge) : 0;
    next_age = 0;
    size_t kept = 0;
    for (ProbeScratch::Pending list : pending) {
      if (list.age == age) {
        position = list.position;
        do {
          list.list = postings_.VisitBlock(list.list, visit);
          list.age = postings_.AgeOf(list.list);
        } while (list.age == age);
        if (is_over(list.age)) continue;
        postings_.PrefetchList(list.list);
      }
      next_age = std::max(next_age, list.age);
      pending[kept++] = list;
    }
    pending.resize(kept);
    KeepHopeful(length, bounds, first_segment, scratch);
  }
}

// Shared tokens that were no hits lie behind the prefix of either side. What of a candidate of this
// era cannot reach the threshold even so is dropped without a look at its tokens.
void TokenIndex::KeepHopeful(uint32_t length, const Bounds& bounds, uint16_t first_segment,
                             ProbeScratch& scratch) const {
  const uint32_t behind_prefix = length - bounds.PrefixLength(length);
  for (const ProbeScratch::Candidate& candidate : scratch.candidates_) {
    const uint32_t entry_length = candidate.length;
    const uint32_t entry_behind_prefix = entry_length - floor_.PrefixLength(entry_length);
    const uint32_t rest =
        std::max(std::min(behind_prefix, entry_length - candidate.entry_position - 1),
                 std::min(entry_behind_prefix, length - candidate.position - 1));
    const bool is_hopeless = entry_length != Posting::kMaxLength &&
                             candidate.hits + rest < bounds.LeastOverlap(length, entry_length);
    if (is_hopeless) continue;
    const EntryRef ref = PostingMap::RefOf(first_segment, candidate.place);
    scratch.hopefuls_.push_back({ref, candidate, {}});
    __builtin_prefetch(segments_[ref.segment].ends.data() + ref.slot);
  }
  scratch.BeginEra();
}

void TokenIndex::Probe(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
                       ProbeScratch& scratch, std::vector<Match>& matches) const {
  assert(is_indexed_ && bounds.threshold() >= floor_.threshold());
  if (tokens.empty() || segments_.empty()) return;
  scratch.Clear();
  FindCandidates(tokens, bounds, edge, scratch);
  for (auto& hopeful : scratch.hopefuls_) {
    hopeful.tokens = this->tokens(hopeful.ref);
    // Titles mostly lie on two cache lines.
    __builtin_prefetch(hopeful.tokens.data());
    __builtin_prefetch(hopeful.tokens.data() + 16);
  }
  const auto length = static_cast<uint32_t>(tokens.size());
  for (const auto& [ref, seen, entry_tokens] : scratch.hopefuls_) {
    const auto entry_length = static_cast<uint32_t>(entry_tokens.size());
    const uint32_t least = bounds.LeastOverlap(length, entry_length);
    if (least > std::min(length, entry_length)) continue;
    uint32_t shared = 0;
    if (entry_length >= Posting::kMaxLength) {  // its hits may be of any number
      shared = OverlapAtLeast(tokens, entry_tokens, least);
    } else {
      // A saturated position is too low: what it adds to the rest cannot be shared again.
      const uint32_t missing = least > seen.hits ? least - seen.hits : 0;
      shared = seen.hits + OverlapAtLeast(tokens.subspan(seen.position + 1),
                                          entry_tokens.subspan(seen.entry_position + 1U), missing);
    }
    if (shared >= least) matches.push_back({ref, shared, entry_length});
  }
}

void ProbeScratch::Clear() {
  hopefuls_.clear();
  BeginEra();
}

void ProbeScratch::BeginEra() {
  candidates_.clear();
  if (++round_ == 0) {
    seen_.assign(seen_.size(), Seen());
    round_ = 1;
  }
}

void ProbeScratch::Grow() {
  seen_.assign(seen_.size() * 2, Seen());
  round_ = 1;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const uint32_t place = candidates_[i].place;
    SeenFor(place) = {place, round_, static_cast<uint32_t>(i)};
  }
}

size_t TokenIndex::bytes() const {
  size_t total = postings_.bytes() + segments_.places().size() * sizeof(Segment) +
                 Bounds::kTableSize * (Bounds::kTableSize + 1);
  for (const Segment& segment : segments_.places()) {
    total += segment.tokens.capacity() * sizeof(Token) + segment.ends.capacity() * sizeof(uint32_t);
  }
  return total;
}

}  // namespace winnow::dedup::index
