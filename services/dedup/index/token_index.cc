#include "services/dedup/index/token_index.h"

#include <algorithm>
#include <cassert>
#include <utility>

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

Posting TokenIndex::PostingOf(size_t slot, size_t length, size_t position) {
  return {static_cast<uint16_t>(slot),
          static_cast<uint8_t>(std::min<size_t>(length, Posting::kMost)),
          static_cast<uint8_t>(std::min<size_t>(position, Posting::kMost))};
}

void TokenIndex::Append(std::span<const Token> tokens) {
  Segment& segment = segments_[segments_.newest()];
  const size_t slot = segment.ends.size();
  assert(slot < 1U << 16);
  const uint32_t prefix = floor_.PrefixLength(static_cast<uint32_t>(tokens.size()));
  for (uint32_t i = 0; i < prefix; ++i) postings_.Prefetch(tokens[i]);
  for (uint32_t i = 0; i < prefix; ++i) {
    postings_.Append(tokens[i], PostingOf(slot, tokens.size(), i));
  }
  segment.tokens.insert(segment.tokens.end(), tokens.begin(), tokens.end());
  segment.ends.push_back(static_cast<uint32_t>(segment.tokens.size()));
}

void TokenIndex::RemoveNewest() {
  Segment& segment = segments_[segments_.newest()];
  assert(!segment.ends.empty());
  const EntryRef ref{segments_.newest(), static_cast<uint16_t>(segment.ends.size() - 1)};
  const std::span<const Token> held = tokens(ref);
  for (uint32_t i = floor_.PrefixLength(static_cast<uint32_t>(held.size())); i > 0; --i) {
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

void TokenIndex::FindCandidates(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
                                ProbeScratch& scratch) const {
  const auto length = static_cast<uint32_t>(tokens.size());
  const uint32_t prefix = bounds.PrefixLength(length);
  for (uint32_t i = 0; i < prefix; ++i) postings_.Prefetch(tokens[i]);
  std::vector<ProbeScratch::Pending>& pending = scratch.pending_;
  pending.clear();
  for (uint32_t i = 0; i < prefix; ++i) {
    const PostingMap::List list = postings_.Find(tokens[i]);
    postings_.PrefetchList(list);
    if (list != 0) pending.push_back({list, i});
  }
  const uint16_t edge_age = segments_.Age(edge.segment);
  uint32_t position = 0;
  const auto visit = [&](uint16_t number, std::span<const uint32_t> run) {
    const uint32_t first_slot = number == edge.segment ? edge.slot : 0;
    for (const uint32_t packed : run) {
      const Posting posting = Posting::Unpack(packed);
      // What a pair can share beyond its first shared token is bounded by what follows that on
      // either side. A saturated length asks for less than the real one does, and its position
      // says nothing.
      const uint32_t least = bounds.LeastOverlap(length, posting.length);
      if (position + least > length) continue;
      if (posting.position + least > posting.length && posting.length != Posting::kMost) continue;
      if (posting.slot >= first_slot) {
        scratch.Add({number, posting.slot}, position, posting.position);
      }
    }
  };
  // A run of each list in turn: the lists lie all over memory, so the runs of one round are fetched
  // at the same time instead of one after the other.
  while (!pending.empty()) {
    size_t kept = 0;
    for (const ProbeScratch::Pending& next : pending) {
      position = next.position;
      const PostingMap::List before = postings_.VisitRun(next.list, edge_age, visit);
      if (before == 0) continue;
      postings_.PrefetchList(before);
      pending[kept++] = {before, position};
    }
    pending.resize(kept);
  }
}

void TokenIndex::Probe(std::span<const Token> tokens, const Bounds& bounds, EntryRef edge,
                       ProbeScratch& scratch, std::vector<Match>& matches) const {
  assert(bounds.threshold() >= floor_.threshold());
  if (tokens.empty() || segments_.empty()) return;
  scratch.Clear();
  FindCandidates(tokens, bounds, edge, scratch);
  for (const auto& candidate : scratch.candidates_) {
    __builtin_prefetch(segments_[candidate.ref.segment].ends.data() + candidate.ref.slot);
  }
  for (auto& candidate : scratch.candidates_) {
    candidate.tokens = this->tokens(candidate.ref);
    // Titles mostly lie on two cache lines.
    __builtin_prefetch(candidate.tokens.data());
    __builtin_prefetch(candidate.tokens.data() + 16);
  }
  const auto length = static_cast<uint32_t>(tokens.size());
  for (const auto& candidate : scratch.candidates_) {
    const auto entry_length = static_cast<uint32_t>(candidate.tokens.size());
    const uint32_t least = bounds.LeastOverlap(length, entry_length);
    if (least > std::min(length, entry_length)) continue;
    // The first shared token is known. A saturated position is before the real one, which the
    // probing side leaves out.
    const uint32_t shared =
        1 + OverlapAtLeast(tokens.subspan(candidate.position + 1),
                           candidate.tokens.subspan(candidate.entry_position + 1), least - 1);
    if (shared >= least) matches.push_back({candidate.ref, shared, entry_length});
  }
}

void ProbeScratch::Add(EntryRef ref, uint32_t position, uint32_t entry_position) {
  if (seen_.size() < 2 * (candidates_.size() + 1)) Grow();
  Seen& seen = SeenFor(ref);
  if (seen.round != round_) {
    seen = {ref, round_, static_cast<uint32_t>(candidates_.size())};
    candidates_.push_back({ref, position, entry_position, {}});
    return;
  }
  Candidate& known = candidates_[seen.candidate];
  if (position >= known.position) return;
  known.position = position;
  known.entry_position = entry_position;
}

ProbeScratch::Seen& ProbeScratch::SeenFor(EntryRef ref) {
  const uint64_t key = uint64_t{ref.segment} << 16 | ref.slot;
  size_t at = (key * 0x9E3779B97F4A7C15ull >> 40) & (seen_.size() - 1);
  while (seen_[at].round == round_ && seen_[at].ref != ref) at = (at + 1) & (seen_.size() - 1);
  return seen_[at];
}

void ProbeScratch::Clear() {
  candidates_.clear();
  if (++round_ == 0) {
    seen_.assign(seen_.size(), Seen());
    round_ = 1;
  }
}

void ProbeScratch::Grow() {
  seen_.assign(std::max<size_t>(256, seen_.size() * 2), Seen());
  round_ = 1;
  for (uint32_t i = 0; i < candidates_.size(); ++i) {
    SeenFor(candidates_[i].ref) = {candidates_[i].ref, round_, i};
  }
}

size_t TokenIndex::bytes() const {
  size_t total = postings_.bytes() + segments_.places().size() * sizeof(Segment) +
                 Bounds::kTableSize * Bounds::kTableSize;
  for (const Segment& segment : segments_.places()) {
    total += segment.tokens.capacity() * sizeof(Token) + segment.ends.capacity() * sizeof(uint32_t);
  }
  return total;
}

}  // namespace winnow::dedup::index
