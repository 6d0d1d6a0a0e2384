#pragma once

#include <string>
#include <vector>

#include "services/dedup/log/decision.h"
#include "services/platform/postgres/session/session.h"

// Rows of dedup.decisions and dedup.candidates to the domain.
namespace winnow::dedup {

Decision DecisionOf(const std::string& ns, const pqxx::row& row);

// Adds the stored candidates of each of these decisions, all of one namespace.
void AddCandidates(pg::Session& session, const std::string& ns, std::vector<Decision*> decisions);

int GuardBits(const std::vector<Guard>& guards);
int DegradationBits(const std::vector<Degradation>& degradations);

}  // namespace winnow::dedup
