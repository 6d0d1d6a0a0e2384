#include <set>

#include "services/dedup/review.h"
#include "services/dedup/store_log.h"
#include "services/dedup/store_rows.h"
#include "services/platform/events/outbox.h"
#include "services/platform/timestamp.h"

namespace winnow::dedup {
namespace {

constexpr pg::Statement kInsertEntries = {
    "dedup.insert_entries",
    "INSERT INTO dedup.entries (namespace, seq, document_id, channel, title, lead, canonical_url,"
    " publish_time, arrival_time, root_seq, vector, vector_model)"
    " SELECT $1, e.*, CASE WHEN e.vector IS NOT NULL THEN $12::text END"
    " FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[],"
    " $7::text[], $8::timestamptz[], $9::timestamptz[], $10::bigint[], $11::bytea[])"
    " AS e(seq, id, channel, title, lead, url, published, arrived, root, vector)"};

constexpr pg::Statement kInsertDecisions = {
    "dedup.insert_decisions",
    "INSERT INTO dedup.decisions (namespace, document_id, seq, channel, url, verdict, original_id,"
    " similarity, stage, policy_version, arrival_time, decide_time, nearest,"
    " degradations)"
    " SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::smallint[],"
    " $7::text[], $8::double precision[], $9::smallint[], $10::bigint[], $11::timestamptz[],"
    " $12::timestamptz[], $13::double precision[], $14::integer[])"};

constexpr pg::Statement kInsertCandidates = {
    "dedup.insert_candidates",
    "INSERT INTO dedup.candidates (namespace, document_id, rank, candidate_id, original_id,"
    " channel, jaccard, cosine, overlap, stage, guards, lead_jaccard, edit_similarity, semantic,"
    " probability)"
    " SELECT $1, * FROM unnest($2::text[], $3::smallint[], $4::text[], $5::text[], $6::text[],"
    " $7::double precision[], $8::double precision[], $9::double precision[], $10::smallint[],"
    " $11::integer[], $12::double precision[], $13::double precision[], $14::double precision[],"
    " $15::double precision[])"};

constexpr pg::Statement kInsertReviews = {
    "dedup.insert_reviews",
    "INSERT INTO dedup.reviews (namespace, seq, document_id, kind)"
    " SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::smallint[])"};

void InsertEntries(pg::Session& session, const std::string& ns, std::span<const Decided> decided,
                   const std::string& model) {
  pg::Array seqs, ids, channels, titles, leads, urls, publish_times, arrival_times, roots, vectors;
  for (const Decided& one : decided) {
    const LogEntry& entry = one.entry;
    seqs.Add(entry.seq);
    ids.Add(entry.document_id);
    channels.Add(entry.channel);
    titles.Add(entry.title);
    leads.Add(entry.lead);
    urls.Add(entry.canonical_url);
    publish_times.Add(entry.publish_time);
    arrival_times.Add(entry.arrival_time);
    roots.Add(entry.root_seq);
    if (entry.vector.empty()) {
      vectors.AddNull();
    } else {
      vectors.AddBytes({reinterpret_cast<const char*>(entry.vector.data()), entry.vector.size()});
    }
  }
  session.Execute(kInsertEntries, ns, seqs, ids, channels, titles, leads, urls, publish_times,
                  arrival_times, roots, vectors, model);
}

void InsertDecisions(pg::Session& session, const std::string& ns,
                     std::span<const Decided> decided) {
  pg::Array ids, seqs, channels, urls, verdicts, originals, similarities, stages, versions;
  pg::Array arrival_times, decide_times, nearest, missing;
  for (const Decided& one : decided) {
    const Decision& decision = one.decision;
    ids.Add(decision.document_id);
    seqs.Add(one.entry.seq);
    channels.Add(decision.channel);
    urls.Add(one.url);
    verdicts.Add(static_cast<int>(decision.verdict));
    if (decision.original_id.empty()) {
      originals.AddNull();
    } else {
      originals.Add(decision.original_id);
    }
    similarities.Add(decision.similarity);
    stages.Add(static_cast<int>(decision.stage));
    versions.Add(decision.policy_version);
    arrival_times.Add(decision.arrival_time);
    decide_times.Add(decision.decide_time);
    nearest.Add(NearestOf(decision));
    missing.Add(DegradationBits(decision.degradations));
  }
  session.Execute(kInsertDecisions, ns, ids, seqs, channels, urls, verdicts, originals,
                  similarities, stages, versions, arrival_times, decide_times, nearest, missing);
}

void InsertCandidates(pg::Session& session, const std::string& ns,
                      std::span<const Decided> decided) {
  pg::Array ids, ranks, candidates, originals, channels, jaccards, cosines, overlaps, stages;
  pg::Array guards, leads, edits, semantics, probabilities;
  bool has_any = false;
  for (const Decided& one : decided) {
    int rank = 0;
    for (const Candidate& candidate : one.decision.candidates) {
      has_any = true;
      ids.Add(one.decision.document_id);
      ranks.Add(rank++);
      candidates.Add(candidate.document_id);
      originals.Add(candidate.original_id);
      channels.Add(candidate.channel);
      jaccards.Add(candidate.scores.jaccard);
      cosines.Add(candidate.scores.cosine);
      overlaps.Add(candidate.scores.overlap);
      stages.Add(static_cast<int>(candidate.stage));
      guards.Add(GuardBits(candidate.guards));
      leads.Add(candidate.scores.lead_jaccard);
      edits.Add(candidate.scores.edit_similarity);
      semantics.Add(candidate.scores.semantic);
      probabilities.Add(candidate.scores.probability);
    }
  }
  if (!has_any) return;
  session.Execute(kInsertCandidates, ns, ids, ranks, candidates, originals, channels, jaccards,
                  cosines, overlaps, stages, guards, leads, edits, semantics, probabilities);
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
  if (has_any) session.Execute(kInsertReviews, ns, seqs, ids, kinds);
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
