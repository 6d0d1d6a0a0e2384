#include "services/classification/api/convert.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

// Policies as messages.
namespace winnow::classification {
std::string ToPolicyName(const std::string& name, const std::string& field,
                         Violations& violations) {
  if (name.empty()) return "default";
  if (!IsSlug(name)) violations.Add(field, "must be [a-z0-9-], 1 to 64 characters");
  return name;
}

PolicyRef ToPolicyRef(const std::string& name, int64_t version, Violations& violations) {
  if (version < 0) violations.Add("policy_version", "must not be negative; 0 means the newest");
  return {ToPolicyName(name, "policy_name", violations), version};
}

Policy WithChange(Policy base, const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                  Violations& violations) {
  if (mask.paths().empty()) {
    violations.Add("update_mask",
                   "is required: name what changes of head_rules, text_rules, max_failed_share");
  }
  for (const std::string& path : mask.paths()) {
    if (path == "head_rules") {
      SetHeads(policy, base);
    } else if (path == "text_rules") {
      SetTexts(policy, base);
    } else if (path == "max_failed_share") {
      base.max_failed_share = policy.max_failed_share();
    } else {
      violations.Add("update_mask",
                     "names what cannot be changed: send head_rules, text_rules or "
                     "max_failed_share");
      break;
    }
  }
  return base;
}

v1::Policy ToProto(const Policy& policy) {
  v1::Policy proto = RulesOf(policy);
  proto.set_namespace_(policy.ns);
  proto.set_name(policy.name);
  proto.set_version(policy.version);
  proto.set_etag(EtagOf(policy));
  if (policy.create_time) *proto.mutable_create_time() = ToTimestamp(*policy.create_time);
  return proto;
}

}  // namespace winnow::classification
