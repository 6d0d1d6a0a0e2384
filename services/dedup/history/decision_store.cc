#include "services/dedup/history/decision_store.h"

#include <algorithm>

#include "services/dedup/history/decision_store.sql.h"
#include "services/dedup/history/history_store.h"
#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.h"
#include "services/dedup/policy/policy_store.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {
namespace {

constexpr int64_t kEntriesPage = 2'000;

StatusOr<std::string> ChannelOf(pg::Session& session, const std::string& ns,
                                const std::string& id) {
  const pqxx::result rows = session.Execute(sql::kGetChannel, ns, id);
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
    const pqxx::result rows = session.Execute(sql::kGetDecision, ns, id);
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
    const pqxx::result rows = session.Execute(sql::kListDuplicates, query.ns, query.original_id,
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
         session.Execute(sql::kCountChannels, ns, original_id, channel, kMaxChannelsCounted)) {
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
