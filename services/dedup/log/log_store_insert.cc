#include <optional>

#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.h"
#include "services/dedup/log/log_store_insert.sql.h"
#include "services/dedup/log/review.h"
#include "services/platform/events/core/outbox.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {
namespace {

using pg::BinaryArray;

BinaryArray Texts() { return BinaryArray(BinaryArray::kText); }
BinaryArray Numbers() { return BinaryArray(BinaryArray::kBigint); }
BinaryArray Doubles() { return BinaryArray(BinaryArray::kDouble); }
BinaryArray Times() { return BinaryArray(BinaryArray::kTimestamptz); }

void InsertEntries(pg::Session& session, const std::string& ns, std::span<const Decided> decided,
                   const std::string& model) {
  BinaryArray seqs = Numbers(), ids = Texts(), channels = Texts(), titles = Texts();
  BinaryArray leads = Texts(), urls = Texts(), publish_times = Times(), arrival_times = Times();
  BinaryArray roots = Numbers(), vectors(BinaryArray::kBytea);
  for (const Decided& one : decided) {
    const LogEntry& entry = one.entry;
    seqs.AddNumber(entry.seq);
    ids.AddText(entry.document_id);
    channels.AddText(entry.channel);
    titles.AddText(entry.title);
    leads.AddText(entry.lead);
    urls.AddText(entry.canonical_url);
    entry.publish_time ? publish_times.AddTime(*entry.publish_time) : publish_times.AddNull();
    arrival_times.AddTime(entry.arrival_time);
    roots.AddNumber(entry.root_seq);
    if (entry.vector.empty()) {
      vectors.AddNull();
    } else {
      vectors.AddBytes({reinterpret_cast<const char*>(entry.vector.data()), entry.vector.size()});
    }
  }
  session.Execute(sql::kInsertEntries, seqs, ids, channels, titles, leads, urls, publish_times,
                  arrival_times, roots, vectors, ns, model);
}

void InsertDecisions(pg::Session& session, const std::string& ns,
                     std::span<const Decided> decided) {
  BinaryArray ids = Texts(), seqs = Numbers(), channels = Texts(), urls = Texts();
  BinaryArray verdicts = Numbers(), originals = Texts(), similarities = Doubles();
  BinaryArray stages = Numbers(), versions = Numbers(), arrival_times = Times();
  BinaryArray decide_times = Times(), nearest = Doubles(), missing = Numbers();
  for (const Decided& one : decided) {
    const Decision& decision = one.decision;
    ids.AddText(decision.document_id);
    seqs.AddNumber(one.entry.seq);
    channels.AddText(decision.channel);
    urls.AddText(one.url);
    verdicts.AddNumber(static_cast<int>(decision.verdict));
    decision.original_id.empty() ? originals.AddNull() : originals.AddText(decision.original_id);
    similarities.AddDouble(decision.similarity);
    stages.AddNumber(static_cast<int>(decision.stage));
    versions.AddNumber(decision.policy_version);
    arrival_times.AddTime(decision.arrival_time);
    decide_times.AddTime(decision.decide_time);
    nearest.AddDouble(NearestOf(decision));
    missing.AddNumber(DegradationBits(decision.degradations));
  }
  session.Execute(sql::kInsertDecisions, ids, seqs, channels, urls, verdicts, originals,
                  similarities, stages, versions, arrival_times, decide_times, nearest, missing,
                  ns);
}

void InsertCandidates(pg::Session& session, const std::string& ns,
                      std::span<const Decided> decided) {
  BinaryArray ids = Texts(), ranks = Numbers(), candidates = Texts(), originals = Texts();
  BinaryArray channels = Texts(), jaccards = Doubles(), cosines = Doubles(), overlaps = Doubles();
  BinaryArray stages = Numbers(), guards = Numbers(), leads = Doubles(), edits = Doubles();
  BinaryArray semantics = Doubles(), probabilities = Doubles();
  const auto add = [](BinaryArray& array, const std::optional<double>& value) {
    value ? array.AddDouble(*value) : array.AddNull();
  };
  bool has_any = false;
  for (const Decided& one : decided) {
    int rank = 0;
    for (const Candidate& candidate : one.decision.candidates) {
      has_any = true;
      ids.AddText(one.decision.document_id);
      ranks.AddNumber(rank++);
      candidates.AddText(candidate.document_id);
      originals.AddText(candidate.original_id);
      channels.AddText(candidate.channel);
      jaccards.AddDouble(candidate.scores.jaccard);
      cosines.AddDouble(candidate.scores.cosine);
      overlaps.AddDouble(candidate.scores.overlap);
      stages.AddNumber(static_cast<int>(candidate.stage));
      guards.AddNumber(GuardBits(candidate.guards));
      add(leads, candidate.scores.lead_jaccard);
      edits.AddDouble(candidate.scores.edit_similarity);
      add(semantics, candidate.scores.semantic);
      probabilities.AddDouble(candidate.scores.probability);
    }
  }
  if (!has_any) return;
  session.Execute(sql::kInsertCandidates, ids, ranks, candidates, originals, channels, jaccards,
                  cosines, overlaps, stages, guards, leads, edits, semantics, probabilities, ns);
}

void InsertReviews(pg::Session& session, const std::string& ns, std::span<const Decided> decided) {
  pg::Array seqs, ids, kinds;
  bool has_any = false;
  for (const Decided& one : decided) {
    if (!one.review) continue;
    has_any = true;
    seqs.Add(one.entry.seq);
    ids.Add(one.decision.document_id);
    kinds.Add(static_cast<int>(*one.review));
  }
  if (has_any) session.Execute(sql::kInsertReviews, ns, seqs, ids, kinds);
}

events::v1::Envelope CrossingOf(const std::string& ns, const Decided& one) {
  auto envelope = events::NewEnvelope(one.decision.decide_time, ns, one.traceparent);
  auto& reached = *envelope.mutable_citation_threshold_reached();
  reached.set_original_item_id(one.decision.original_id);
  reached.set_item_id(one.decision.document_id);
  reached.set_channel_count(one.channels_reached);
  return envelope;
}

events::v1::Envelope EventOf(const std::string& ns, const Decided& one) {
  const Decision& decision = one.decision;
  auto envelope = events::NewEnvelope(decision.decide_time, ns, one.traceparent);
  if (decision.verdict == Verdict::kUnique) {
    envelope.mutable_item_accepted()->set_item_id(decision.document_id);
    return envelope;
  }
  auto& found = *envelope.mutable_duplicate_found();
  found.set_item_id(decision.document_id);
  found.set_original_item_id(decision.original_id);
  found.set_channel(decision.channel);
  found.set_url(one.url);
  *found.mutable_arrival_time() = ToTimestamp(decision.arrival_time);
  return envelope;
}

}  // namespace

void InsertDecided(pg::Session& session, const std::string& ns, std::span<const Decided> decided,
                   const std::string& model) {
  if (decided.empty()) return;
  InsertEntries(session, ns, decided, model);
  InsertDecisions(session, ns, decided);
  InsertCandidates(session, ns, decided);
  InsertReviews(session, ns, decided);
  std::vector<events::v1::Envelope> envelopes;
  for (const Decided& one : decided) {
    if (one.is_item) envelopes.push_back(EventOf(ns, one));
    if (one.channels_reached > 0) envelopes.push_back(CrossingOf(ns, one));
  }
  events::Append(session, "dedup", envelopes);
}

}  // namespace winnow::dedup
