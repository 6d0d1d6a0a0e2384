#include "services/dedup/history/decision_store.h"

#include <algorithm>

#include "services/dedup/history/history_store.h"
#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.h"
#include "services/dedup/policy/policy_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {
namespace {

constexpr int64_t kEntriesPage = 2'000;

constexpr pg::Statement kGetDecision = {
    "dedup.get_decision", "SELECT " WINNOW_DEDUP_DECISION_COLUMNS
                          " FROM dedup.decisions WHERE namespace = $1 AND document_id = $2"};

constexpr pg::Statement kListDuplicates = {
    "dedup.list_duplicates",
    "SELECT seq, document_id, channel, url, similarity, stage, arrival_time FROM dedup.decisions"
    " WHERE namespace = $1 AND original_id = $2 AND seq > $3 ORDER BY seq LIMIT $4"};

// The original's own channel is counted once, however often it was repeated.
constexpr pg::Statement kCountChannels = {
    "dedup.count_channels",
    "WITH repeated AS (SELECT channel, count(*) AS times FROM dedup.decisions"
    "   WHERE namespace = $1 AND original_id = $2 GROUP BY channel)"
    " SELECT channel, times, (sum(times) OVER ())::bigint AS duplicates,"
    "   count(*) OVER () + ($3::text NOT IN (SELECT channel FROM repeated))::int AS channels"
    " FROM repeated ORDER BY times DESC, channel LIMIT $4"};

constexpr pg::Statement kGetChannel = {
    "dedup.get_channel",
    "SELECT channel FROM dedup.decisions WHERE namespace = $1 AND document_id = $2"};

StatusOr<std::string> ChannelOf(pg::Session& session, const std::string& ns,
                                const std::string& id) {
  const pqxx::result rows = session.Execute(kGetChannel, ns, id);
  if (rows.empty()) return NotFound("document", id);
  return std::string(rows[0][0].c_str());
}

Duplicate DuplicateOf(const pqxx::row& row) {
  return {row[0].as<int64_t>(), row[1].c_str(),      row[2].c_str(),
          row[3].c_str(),       row[4].as<double>(), static_cast<Stage>(row[5].as<int>()),
          pg::ToTime(row[6])};
}

}  // namespace

StatusOr<Decision> DecisionStore::GetDecision(Deadline deadline, const std::string& ns,
                                              const std::string& id) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Decision> {
    const pqxx::result rows = session.Execute(kGetDecision, ns, id);
    if (rows.empty()) return NotFound("decision", id);
    Decision decision = DecisionOf(ns, rows[0]);
    AddCandidates(session, ns, {&decision});
    AddOverrides(session, ns, {&decision});
    return decision;
  });
}

StatusOr<DuplicatePage> DecisionStore::ListDuplicates(Deadline deadline,
                                                      const DuplicateQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<DuplicatePage> {
    // One more than asked for shows whether there is a next page.
    const pqxx::result rows = session.Execute(kListDuplicates, query.ns, query.original_id,
                                              query.after, query.page_size + 1);
    if (rows.empty()) {
      WINNOW_RETURN_IF_ERROR(ChannelOf(session, query.ns, query.original_id).status());
    }
    DuplicatePage page;
    for (const auto& row : rows) {
      if (page.duplicates.size() == static_cast<size_t>(query.page_size)) {
        page.next = page.duplicates.back().seq;
        break;
      }
      page.duplicates.push_back(DuplicateOf(row));
    }
    return page;
  });
}

StatusOr<Citations> DecisionStore::GetCitations(Deadline deadline, const std::string& ns,
                                                const std::string& original_id) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Citations> {
    WINNOW_ASSIGN_OR_RETURN(const std::string channel, ChannelOf(session, ns, original_id));
    Citations citations;
    citations.channel_count = 1;
    for (const auto& row :
         session.Execute(kCountChannels, ns, original_id, channel, kMaxChannelsCounted)) {
      citations.channels.push_back({row[0].c_str(), row[1].as<int64_t>()});
      citations.duplicate_count = row[2].as<int64_t>();
      citations.channel_count = row[3].as<int64_t>();
    }
    return citations;
  });
}

StatusOr<PolicyVersion> DecisionStore::GetPolicy(Deadline deadline, const std::string& ns,
                                                 int64_t version, const Policy& initial) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<PolicyVersion> {
    if (auto found = ReadPolicyVersion(session, ns, version)) return *std::move(found);
    if (version <= 1) return PolicyVersion{initial, "", "", {}};
    return NotFound("policy version", std::to_string(version));
  });
}

StatusOr<DecisionStore::Span> DecisionStore::NewestSpan(Deadline deadline, const std::string& ns,
                                                        Micros window, int64_t most) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<Span> {
    WINNOW_ASSIGN_OR_RETURN(const pg::Head head, pg::ReadHead(session, {"dedup", ns}));
    const std::optional<Time> newest = LastArrival(session, ns);
    if (!newest) return Span{};
    const int64_t first = FirstSeqSince(session, ns, head.head, *newest - window);
    return Span{std::max(first, head.head - most + 1), head.head};
  });
}

StatusOr<std::vector<LogEntry>> DecisionStore::ReadPage(Deadline deadline, const std::string& ns,
                                                        int64_t after, int64_t last,
                                                        const std::string& model) {
  const auto limit = static_cast<int>(std::min<int64_t>(kEntriesPage, last - after));
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<std::vector<LogEntry>> {
    return ReadEntries(session, ns, after, limit, model);
  });
}

}  // namespace winnow::dedup
