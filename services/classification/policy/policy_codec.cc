#include "services/classification/policy/policy_codec.h"

#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

// Open enums: a number of no status is none, which CheckPolicy refuses.
CommentStatus KnownStatus(v1::CommentStatus status) {
  const bool known = status >= 0 && status < static_cast<int>(kStatuses);
  return known ? static_cast<CommentStatus>(status) : CommentStatus::kNone;
}

}  // namespace

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

v1::Policy RulesOf(const Policy& policy) {
  v1::Policy proto;
  for (const HeadRule& rule : policy.heads) {
    v1::HeadRule& out = *proto.add_head_rules();
    out.set_head(rule.head);
    out.set_threshold(rule.threshold);
    out.set_status(static_cast<v1::CommentStatus>(rule.status));
    out.set_reason(rule.reason);
  }
  for (const TextRule& rule : policy.texts) {
    v1::TextRule& out = *proto.add_text_rules();
    out.set_contains(rule.contains);
    out.set_status(static_cast<v1::CommentStatus>(rule.status));
    out.set_reason(rule.reason);
  }
  proto.set_max_failed_share(policy.max_failed_share);
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
