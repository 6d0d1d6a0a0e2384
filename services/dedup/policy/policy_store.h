#pragma once

#include <optional>
#include <string>

#include "services/dedup/policy/policy.h"
#include "services/platform/postgres/pool/pool.h"

// dedup.policies: every version of each namespace's rules.
namespace winnow::dedup {

// The policy in force, if the namespace has any.
std::optional<Policy> ReadPolicy(pg::Session& session, const std::string& ns);
// The same with how it came to be; `version` 0 is the one in force.
std::optional<PolicyVersion> ReadPolicyVersion(pg::Session& session, const std::string& ns,
                                               int64_t version);
// Version 1: the configuration's.
void InsertInitialPolicy(pg::Session& session, const std::string& ns, const Policy& policy);

// Makes the next version, in order with the decisions: under the lock of the namespace's log.
// `initial` is in force where there is none. Errors: INVALID_ARGUMENT for rules that do not go
// together, ABORTED for a stale etag, and as LogTransaction::Run.
StatusOr<PolicyVersion> UpdatePolicy(pg::Pool& logs, Deadline deadline, const PolicyUpdate& update,
                                     const Policy& initial);

}  // namespace winnow::dedup
