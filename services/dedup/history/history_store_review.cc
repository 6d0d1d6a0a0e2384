// What people are asked, and what they say.
#include <limits>

#include "services/dedup/history/history_store.h"
#include "services/dedup/history/history_store_review.sql.h"
#include "services/dedup/log/decision_sql.h"
#include "services/dedup/log/log_store.h"

namespace winnow::dedup {
namespace {

std::optional<std::string> OrNull(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

StatusOr<Decision> DecisionWithOverride(pg::Session& session, const std::string& ns,
                                        const std::string& id) {
  auto found = ReadDecisions(session, ns, {id});
  if (found.empty()) return NotFound("decision", id);
  Decision decision = std::move(found.begin()->second);
  AddOverrides(session, ns, {&decision});
  return decision;
}

Status CheckOriginal(pg::Session& session, const OverrideRequest& request) {
  if (request.verdict == Verdict::kUnique) return OkStatus();
  const pqxx::result rows = session.Execute(sql::kReadOriginal, request.ns, request.original_id);
  if (rows.empty()) return NotFound("original", request.original_id);
  if (rows[0][0].is_null()) return OkStatus();
  return FailedPrecondition("document " + request.original_id + " is itself a duplicate of " +
                            rows[0][0].c_str() + ": name that one as the original");
}

bool SaysTheSame(const Override& said, const OverrideRequest& request) {
  return said.verdict == request.verdict && said.original_id == request.original_id &&
         said.note == request.note && said.actor == request.actor;
}

// Whether the request came before. INVALID_ARGUMENT where its id was another's.
StatusOr<bool> CameBefore(pg::Session& session, const OverrideRequest& request) {
  if (request.request_id.empty()) return false;
  const pqxx::result rows =
      session.Execute(sql::kReadOverrideRequest, request.ns, request.request_id);
  if (rows.empty()) return false;
  const pqxx::row row = rows[0];
  Override said;
  said.verdict = static_cast<Verdict>(row[1].as<int>());
  if (!row[2].is_null()) said.original_id = row[2].c_str();
  said.note = row[3].c_str();
  said.actor = row[4].c_str();
  if (row[0].c_str() == request.document_id && SaysTheSame(said, request)) return true;
  return InvalidField("request_id",
                      "was already used by a call with other parameters: use a new request_id");
}

}  // namespace

StatusOr<ReviewPage> HistoryStore::ListReviewQueue(Deadline deadline, const ReviewQuery& query) {
  const int64_t before = query.before > 0 ? query.before : std::numeric_limits<int64_t>::max();
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<ReviewPage> {
    // One more than asked for shows whether there is a next page.
    const pqxx::result rows =
        session.Execute(sql::kReviewQueue, query.ns, before,
                        query.kind ? static_cast<int>(*query.kind) : 0, query.page_size + 1);
    ReviewPage page;
    std::set<std::string> ids;
    for (const auto& row : rows) {
      if (page.items.size() == static_cast<size_t>(query.page_size)) {
        page.next = page.items.back().seq;
        break;
      }
      ReviewItem& item = page.items.emplace_back();
      item.kind = static_cast<ReviewKind>(row[0].as<int>());
      item.seq = row[1].as<int64_t>();
      item.decision.document_id = row[2].c_str();
      ids.insert(item.decision.document_id);
    }
    const auto decisions = ReadDecisions(session, query.ns, ids);
    for (ReviewItem& item : page.items) {
      item.decision = decisions.at(item.decision.document_id);
      for (const Candidate& each : item.decision.candidates) ids.insert(each.document_id);
    }
    std::map<std::string, std::string> titles;
    pg::Array wanted;
    for (const std::string& id : ids) wanted.Add(id);
    for (const auto& row : session.Execute(sql::kReadTitles, query.ns, wanted)) {
      titles[row[0].c_str()] = row[1].c_str();
    }
    for (ReviewItem& item : page.items) {
      item.title = titles[item.decision.document_id];
      if (item.decision.candidates.empty()) continue;
      item.candidate_title = titles[item.decision.candidates.front().document_id];
    }
    return page;
  });
}

StatusOr<Decision> HistoryStore::Override(Deadline deadline, const OverrideRequest& request) {
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<Decision> {
    if (session.Execute(sql::kLockDecision, request.ns, request.document_id).empty()) {
      return NotFound("decision", request.document_id);
    }
    WINNOW_ASSIGN_OR_RETURN(Decision before,
                            DecisionWithOverride(session, request.ns, request.document_id));
    WINNOW_ASSIGN_OR_RETURN(const bool is_repeated, CameBefore(session, request));
    if (is_repeated || (before.override_ && SaysTheSame(*before.override_, request))) {
      return before;
    }
    WINNOW_RETURN_IF_ERROR(CheckOriginal(session, request));
    const int64_t revision = before.override_ ? before.override_->revision + 1 : 1;
    session.Execute(sql::kInsertOverride, request.ns, request.document_id, revision,
                    static_cast<int>(request.verdict), OrNull(request.original_id), request.note,
                    request.actor, OrNull(request.request_id));
    return DecisionWithOverride(session, request.ns, request.document_id);
  });
}

}  // namespace winnow::dedup
