#include "services/dedup/history/history_store.h"

#include <algorithm>

#include "services/dedup/history/history_store.sql.h"
#include "services/dedup/history/range_sql.h"
#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.h"

namespace winnow::dedup {
namespace {

std::vector<NumberedDecision> NumberedOf(pg::Session& session, const std::string& ns,
                                         const pqxx::result& rows) {
  constexpr int kSeqColumn = 10;
  std::vector<NumberedDecision> decisions;
  decisions.reserve(static_cast<size_t>(rows.size()));
  for (const auto& row : rows) {
    decisions.push_back({row[kSeqColumn].as<int64_t>(), DecisionOf(ns, row)});
  }
  std::vector<Decision*> all;
  for (NumberedDecision& each : decisions) all.push_back(&each.decision);
  AddCandidates(session, ns, all);
  return decisions;
}

}  // namespace

void AddOverrides(pg::Session& session, const std::string& ns, std::vector<Decision*> decisions) {
  if (decisions.empty()) return;
  std::map<std::string, Decision*> by_id;
  pg::Array ids;
  for (Decision* decision : decisions) {
    if (by_id.emplace(decision->document_id, decision).second) ids.Add(decision->document_id);
  }
  for (const auto& row : session.Execute(sql::kReadOverrides, ns, ids)) {
    dedup::Override said;
    said.verdict = static_cast<Verdict>(row[1].as<int>());
    if (!row[2].is_null()) said.original_id = row[2].c_str();
    said.note = row[3].c_str();
    said.actor = row[4].c_str();
    said.create_time = pg::ToTime(row[5]);
    said.revision = row[6].as<int64_t>();
    by_id.at(row[0].c_str())->override_ = std::move(said);
  }
}

std::vector<NumberedDecision> ReadDecisionsAfter(pg::Session& session, const std::string& ns,
                                                 int64_t after, int64_t until, int limit) {
  return NumberedOf(session, ns,
                    session.Execute(sql::kReadDecisionsAfter, ns, after, until, limit));
}

StatusOr<DecisionPage> HistoryStore::ListDecisions(Deadline deadline, const DecisionQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<DecisionPage> {
    WINNOW_ASSIGN_OR_RETURN(SeqRange range, SeqRangeOf(session, query.ns, query.range));
    if (query.before > 0) range.end = std::min(range.end, query.before);
    const bool is_filtered = query.verdict || !query.channel.empty();
    const int scanned = is_filtered ? kMaxDecisionsScanned : query.page_size;
    auto found =
        NumberedOf(session, query.ns,
                   session.Execute(sql::kListDecisions, query.ns, range.first, range.end, scanned,
                                   query.verdict ? static_cast<int>(*query.verdict) : 0,
                                   query.channel, query.page_size));
    DecisionPage page;
    // Seqs have no gaps: the scan has come to this one, or to the page's last.
    int64_t reached = range.end - scanned;
    if (found.size() == static_cast<size_t>(query.page_size)) reached = found.back().seq;
    if (reached > range.first) page.next = reached;
    std::vector<Decision*> all;
    for (NumberedDecision& each : found) page.decisions.push_back(std::move(each.decision));
    for (Decision& decision : page.decisions) all.push_back(&decision);
    AddOverrides(session, query.ns, all);
    return page;
  });
}

StatusOr<TopPage> HistoryStore::ListTopCited(Deadline deadline, const TopQuery& query) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<TopPage> {
    WINNOW_ASSIGN_OR_RETURN(const SeqRange seqs, SeqRangeOf(session, query.ns, query.range));
    TopPage page;
    // One more than asked for shows whether there is a next page.
    for (const auto& row :
         session.Execute(sql::kTopCited, query.ns, seqs.first, seqs.end, query.page_size + 1,
                         query.after_count, query.after_id)) {
      page.originals.push_back({row[0].c_str(), row[1].c_str(), row[2].c_str(), pg::ToTime(row[3]),
                                row[4].as<int64_t>(), row[5].as<int64_t>(), pg::ToTime(row[6])});
    }
    page.has_more = page.originals.size() > static_cast<size_t>(query.page_size);
    if (page.has_more) page.originals.pop_back();
    return page;
  });
}

}  // namespace winnow::dedup
