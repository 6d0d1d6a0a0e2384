// Counts of decisions.
#include <algorithm>

#include "services/dedup/history/history_store.h"
#include "services/dedup/history/history_store_stats.sql.h"
#include "services/dedup/history/range_sql.h"
#include "services/dedup/log/log_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {
namespace {

void ReadErrors(pg::Session& session, const std::string& ns, const SeqRange& range, Stats& stats) {
  for (const auto& row : session.Execute(sql::kStatsNear, ns, range.first, range.end)) {
    const auto verdict = static_cast<Verdict>(row[0].as<int>());
    ErrorCount& count =
        verdict == Verdict::kDuplicate ? stats.false_positives : stats.false_negatives;
    count.all = row[1].as<int64_t>();
    count.decisions = row[2].as<int64_t>();
  }
  for (const auto& row : session.Execute(sql::kStatsReviews, ns, range.first, range.end)) {
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
    for (const auto& row : session.Execute(sql::kStatsHours, ns, seqs.first, seqs.end)) {
      stats.hours.push_back({pg::ToTime(row[0]), row[1].as<int64_t>(), row[2].as<int64_t>()});
    }
    for (const auto& row :
         session.Execute(sql::kStatsChannels, ns, seqs.first, seqs.end, kMaxChannelsTold)) {
      stats.channels.push_back(
          {row[0].c_str(), row[1].as<int64_t>(), row[2].as<int64_t>(), row[3].as<int64_t>()});
    }
    for (const auto& row : session.Execute(sql::kStatsStages, ns, seqs.first, seqs.end)) {
      stats.stages.emplace_back(static_cast<Stage>(row[0].as<int>()), row[1].as<int64_t>());
    }
    for (const auto& row :
         session.Execute(sql::kStatsSimilarities, ns, seqs.first, seqs.end, kSimilarityBuckets)) {
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
