// Counts of decisions.
#include <algorithm>

#include "services/dedup/history/history_store.h"
#include "services/dedup/history/range_sql.h"
#include "services/dedup/log/log_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {
namespace {

constexpr pg::Statement kHours = {
    "dedup.stats_hours",
    "SELECT date_bin('1 hour', arrival_time, '1970-01-01 00:00:00+00') AS hour, count(*),"
    " count(*) FILTER (WHERE verdict = 2) FROM dedup.decisions"
    " WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY hour ORDER BY hour"};

// Which channel has a story first: of those that others repeated within the range.
constexpr pg::Statement kChannels = {
    "dedup.stats_channels",
    "WITH firsts AS (SELECT o.channel, count(*) AS stories FROM (SELECT DISTINCT original_id"
    "     FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3"
    "     AND original_id IS NOT NULL) AS cited CROSS JOIN LATERAL"
    "     (SELECT channel FROM dedup.decisions WHERE namespace = $1"
    "      AND document_id = cited.original_id LIMIT 1) AS o GROUP BY o.channel),"
    " counted AS (SELECT channel, count(*) AS documents,"
    "     count(*) FILTER (WHERE verdict = 2) AS duplicates FROM dedup.decisions"
    "     WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY channel)"
    " SELECT channel, coalesce(documents, 0) AS documents, coalesce(duplicates, 0),"
    " coalesce(stories, 0) FROM counted FULL JOIN firsts USING (channel)"
    " ORDER BY documents DESC, channel LIMIT $4"};

constexpr pg::Statement kStages = {
    "dedup.stats_stages",
    "SELECT stage, count(*) FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3"
    " GROUP BY stage ORDER BY stage"};

constexpr pg::Statement kSimilarities = {
    "dedup.stats_similarities",
    "SELECT least(floor(nearest * $4)::int, $4 - 1) AS bucket, verdict, count(*)"
    " FROM dedup.decisions WHERE namespace = $1 AND seq >= $2 AND seq < $3"
    " GROUP BY bucket, verdict"};

// Reviewed: drawn for review, and looked at. By kind.
constexpr pg::Statement kReviews = {
    "dedup.stats_reviews",
    "SELECT r.kind, count(*), count(*) FILTER (WHERE said.verdict <> d.verdict)"
    " FROM dedup.reviews r CROSS JOIN LATERAL (SELECT verdict FROM dedup.overrides"
    "     WHERE namespace = $1 AND document_id = r.document_id ORDER BY revision DESC LIMIT 1)"
    "   AS said CROSS JOIN LATERAL (SELECT verdict FROM dedup.decisions"
    "     WHERE namespace = $1 AND document_id = r.document_id LIMIT 1) AS d"
    " WHERE r.namespace = $1 AND r.seq >= $2 AND r.seq < $3 GROUP BY r.kind"};

// By verdict: all, and those near a threshold.
constexpr pg::Statement kNear = {
    "dedup.stats_near",
    "SELECT verdict, count(*), count(*) FILTER (WHERE CASE verdict WHEN 1 THEN nearest > 0"
    " ELSE stage NOT IN (1, 2) END) FROM dedup.decisions"
    " WHERE namespace = $1 AND seq >= $2 AND seq < $3 GROUP BY verdict"};

void ReadErrors(pg::Session& session, const std::string& ns, const SeqRange& range, Stats& stats) {
  for (const auto& row : session.Execute(kNear, ns, range.first, range.end)) {
    const auto verdict = static_cast<Verdict>(row[0].as<int>());
    ErrorCount& count =
        verdict == Verdict::kDuplicate ? stats.false_positives : stats.false_negatives;
    count.all = row[1].as<int64_t>();
    count.decisions = row[2].as<int64_t>();
  }
  for (const auto& row : session.Execute(kReviews, ns, range.first, range.end)) {
    const auto kind = static_cast<ReviewKind>(row[0].as<int>());
    ErrorCount& count =
        kind == ReviewKind::kDuplicate ? stats.false_positives : stats.false_negatives;
    count.reviewed = row[1].as<int64_t>();
    count.wrong = row[2].as<int64_t>();
  }
}

}  // namespace

StatusOr<SeqRange> SeqRangeOf(pg::Session& session, const std::string& ns, const TimeRange& range) {
  WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, {"dedup", ns}));
  SeqRange seqs{1, head.head + 1};
  if (range.until) seqs.end = FirstSeqSince(session, ns, head.head, *range.until);
  if (range.from) seqs.first = FirstSeqSince(session, ns, head.head, *range.from);
  return seqs;
}

StatusOr<Stats> HistoryStore::GetStats(Deadline deadline, const std::string& ns,
                                       const TimeRange& range) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Stats> {
    WINNOW_ASSIGN_OR_RETURN(const SeqRange seqs, SeqRangeOf(session, ns, range));
    Stats stats;
    for (const auto& row : session.Execute(kHours, ns, seqs.first, seqs.end)) {
      stats.hours.push_back({pg::ToTime(row[0]), row[1].as<int64_t>(), row[2].as<int64_t>()});
    }
    for (const auto& row : session.Execute(kChannels, ns, seqs.first, seqs.end, kMaxChannelsTold)) {
      stats.channels.push_back(
          {row[0].c_str(), row[1].as<int64_t>(), row[2].as<int64_t>(), row[3].as<int64_t>()});
    }
    for (const auto& row : session.Execute(kStages, ns, seqs.first, seqs.end)) {
      stats.stages.emplace_back(static_cast<Stage>(row[0].as<int>()), row[1].as<int64_t>());
    }
    for (const auto& row :
         session.Execute(kSimilarities, ns, seqs.first, seqs.end, kSimilarityBuckets)) {
      SimilarityCount& count =
          stats.similarities[std::clamp(row[0].as<int>(), 0, kSimilarityBuckets - 1)];
      const bool is_duplicate = static_cast<Verdict>(row[1].as<int>()) == Verdict::kDuplicate;
      (is_duplicate ? count.duplicates : count.unique) = row[2].as<int64_t>();
    }
    ReadErrors(session, ns, seqs, stats);
    return stats;
  });
}

}  // namespace winnow::dedup
