#include "services/dedup/judge/replay.h"

namespace winnow::dedup {
namespace {

constexpr uint16_t kSegmentEntries = 10'000;

}  // namespace

Replay::Replay(const TextRules& rules, const Policy& policy, int64_t after_seq,
               const EmbedderCalibration* meaning)
    : rules_(rules), window_(rules, policy, after_seq, kSegmentEntries, meaning) {}

Replay::Outcome Replay::Next(const LogEntry& entry) {
  Fingerprint print = rules_.OfNormalized(entry.title, entry.lead, entry.canonical_url);
  print.vector = entry.vector;
  const Judgement judged = window_.Judge(print, entry.channel, entry.arrival_time);
  window_.Append(entry.seq, print, entry.channel, entry.arrival_time, judged);
  window_.CommitPending();
  const bool is_duplicate = judged.is_duplicate();
  return {judged.verdict, judged.stage, judged.similarity,
          is_duplicate ? judged.candidates.front().root_seq : entry.seq};
}

Preview::Preview(const TextRules& rules, const Policy& before, const Policy& after,
                 int64_t after_seq, size_t max_changes, const EmbedderCalibration* meaning)
    : before_(rules, before, after_seq, meaning),
      after_(rules, after, after_seq, meaning),
      after_seq_(after_seq),
      max_changes_(max_changes) {}

void Preview::Add(const LogEntry& entry) {
  if (!from) from = entry.arrival_time;
  until = entry.arrival_time;
  ids_.resize(static_cast<size_t>(entry.seq - after_seq_));
  ids_.back() = entry.document_id;
  ++document_count;
  Count(entry, before_.Next(entry), after_.Next(entry));
}

void Preview::Count(const LogEntry& entry, const Replay::Outcome& before,
                    const Replay::Outcome& after) {
  const bool was_duplicate = before.verdict == Verdict::kDuplicate;
  const bool is_duplicate = after.verdict == Verdict::kDuplicate;
  duplicates_before += was_duplicate ? 1 : 0;
  duplicates_after += is_duplicate ? 1 : 0;
  if (before.root_seq == after.root_seq) return;
  newly_duplicate += !was_duplicate ? 1 : 0;
  newly_unique += !is_duplicate ? 1 : 0;
  other_original += was_duplicate && is_duplicate ? 1 : 0;
  if (changes.size() >= max_changes_) return;
  changes.push_back({entry.document_id, entry.channel, before, after,
                     was_duplicate ? OriginalOf(before) : "",
                     is_duplicate ? OriginalOf(after) : ""});
}

std::string Preview::OriginalOf(const Replay::Outcome& outcome) const {
  return ids_.at(static_cast<size_t>(outcome.root_seq - after_seq_ - 1));
}

}  // namespace winnow::dedup
