#include "services/dedup/log/decision_sql.h"

#include <map>

#include "services/dedup/log/decision.sql.h"

namespace winnow::dedup {
namespace {

constexpr Guard kGuards[] = {Guard::kSameChannel, Guard::kShortTitle, Guard::kChain,
                             Guard::kTemplate, Guard::kContradiction};

constexpr Degradation kDegradations[] = {Degradation::kStore, Degradation::kEmbedder};

template <class Value>
int BitOf(Value value) {
  return 1 << static_cast<int>(value);
}

}  // namespace

int GuardBits(const std::vector<Guard>& guards) {
  int bits = 0;
  for (const Guard guard : guards) bits |= BitOf(guard);
  return bits;
}

int DegradationBits(const std::vector<Degradation>& degradations) {
  int bits = 0;
  for (const Degradation degradation : degradations) bits |= BitOf(degradation);
  return bits;
}

Decision DecisionOf(const std::string& ns, const pqxx::row& row) {
  Decision decision;
  decision.ns = ns;
  decision.document_id = row[0].c_str();
  decision.channel = row[1].c_str();
  decision.verdict = static_cast<Verdict>(row[2].as<int>());
  if (!row[3].is_null()) decision.original_id = row[3].c_str();
  decision.similarity = row[4].as<double>();
  decision.stage = static_cast<Stage>(row[5].as<int>());
  decision.policy_version = row[6].as<int64_t>();
  decision.arrival_time = pg::ToTime(row[7]);
  decision.decide_time = pg::ToTime(row[8]);
  const int missing = row[9].as<int>();
  for (const Degradation degradation : kDegradations) {
    if (missing & BitOf(degradation)) decision.degradations.push_back(degradation);
  }
  decision.recorded = true;
  return decision;
}

void AddCandidates(pg::Session& session, const std::string& ns, std::vector<Decision*> decisions) {
  std::map<std::string, Decision*> by_id;
  pg::Array ids;
  for (Decision* decision : decisions) {
    if (by_id.emplace(decision->document_id, decision).second) ids.Add(decision->document_id);
  }
  if (by_id.empty()) return;
  for (const auto& row : session.Execute(sql::kReadCandidates, ns, ids)) {
    Candidate candidate;
    candidate.document_id = row[1].c_str();
    candidate.original_id = row[2].c_str();
    candidate.channel = row[3].c_str();
    Scores& scores = candidate.scores;
    scores.jaccard = row[4].as<double>();
    scores.cosine = row[5].as<double>();
    scores.overlap = row[6].as<double>();
    if (!row[9].is_null()) scores.lead_jaccard = row[9].as<double>();
    scores.edit_similarity = row[10].as<double>();
    if (!row[11].is_null()) scores.semantic = row[11].as<double>();
    scores.probability = row[12].as<double>();
    candidate.stage = static_cast<Stage>(row[7].as<int>());
    const int bits = row[8].as<int>();
    for (const Guard guard : kGuards) {
      if (bits & BitOf(guard)) candidate.guards.push_back(guard);
    }
    by_id.at(row[0].c_str())->candidates.push_back(std::move(candidate));
  }
}

}  // namespace winnow::dedup
