#include "services/classification/convert.h"
#include "services/platform/hash.h"
#include "services/platform/text.h"
#include "services/platform/timestamp.h"

// Policies, as messages, as they are stored, and as they are told apart.
namespace winnow::classification {
namespace {

// Open enums: a number of no status is none, which CheckPolicy refuses.
CommentStatus KnownStatus(v1::CommentStatus status) {
  const bool known = status >= 0 && status < static_cast<int>(kStatuses);
  return known ? static_cast<CommentStatus>(status) : CommentStatus::kNone;
}

void SetHeads(const v1::Policy& policy, Policy& domain) {
  domain.heads.clear();
  for (const v1::HeadRule& rule : policy.head_rules()) {
    domain.heads.push_back(
        {rule.head(), rule.threshold(), KnownStatus(rule.status()), rule.reason()});
  }
}

void SetTexts(const v1::Policy& policy, Policy& domain) {
  domain.texts.clear();
  for (const v1::TextRule& rule : policy.text_rules()) {
    domain.texts.push_back({rule.contains(), KnownStatus(rule.status()), rule.reason()});
  }
}

// What a version of a policy says, without which one it is.
v1::Policy RulesOf(const Policy& policy) {
  v1::Policy proto;
  for (const HeadRule& rule : policy.heads) {
    v1::HeadRule& out = *proto.add_head_rules();
    out.set_head(rule.head);
    out.set_threshold(rule.threshold);
    out.set_status(ToProto(rule.status));
    out.set_reason(rule.reason);
  }
  for (const TextRule& rule : policy.texts) {
    v1::TextRule& out = *proto.add_text_rules();
    out.set_contains(rule.contains);
    out.set_status(ToProto(rule.status));
    out.set_reason(rule.reason);
  }
  proto.set_max_failed_share(policy.max_failed_share);
  return proto;
}

}  // namespace

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

std::string EtagOf(const Policy& policy) {
  const uint64_t hash = Hash64(policy.ns + "/" + LabelOf(policy) + "/" + ToBody(policy));
  std::string bytes(sizeof hash, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(hash >> (8 * i));
  return Hex(bytes);
}

std::string ToBody(const Policy& policy) { return RulesOf(policy).SerializeAsString(); }

StatusOr<Policy> FromBody(const std::string& name, int64_t version, const std::string& body) {
  v1::Policy proto;
  if (!proto.ParseFromString(body)) return Internal("a stored policy cannot be read");
  Policy policy{.name = name, .version = version};
  SetHeads(proto, policy);
  SetTexts(proto, policy);
  policy.max_failed_share = proto.max_failed_share();
  return policy;
}

}  // namespace winnow::classification
