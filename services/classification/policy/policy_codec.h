#pragma once

#include <cstdint>
#include <string>

#include "services/classification/policy/policy.h"
#include "services/platform/base/status.h"
#include "winnow/classification/v1/classification_service.pb.h"

// A policy is stored as a serialized winnow.classification.v1.Policy that holds its rules; name and
// version are columns beside it.
namespace winnow::classification {

std::string ToBody(const Policy& policy);
// INTERNAL if `body` cannot be parsed.
StatusOr<Policy> FromBody(const std::string& name, int64_t version, const std::string& body);
// Differs for every version of every policy.
std::string EtagOf(const Policy& policy);

// The rules of a policy as messages, without its name and version, and back. A status that this
// version does not know becomes kNone, which CheckPolicy refuses.
v1::Policy RulesOf(const Policy& policy);
void SetHeads(const v1::Policy& policy, Policy& domain);
void SetTexts(const v1::Policy& policy, Policy& domain);

}  // namespace winnow::classification
