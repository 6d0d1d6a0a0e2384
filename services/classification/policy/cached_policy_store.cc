#include "services/classification/policy/cached_policy_store.h"

#include "services/classification/policy/policy_codec.h"

namespace winnow::classification {

StatusOr<std::shared_ptr<const Decider>> CachedPolicyStore::Get(Deadline deadline,
                                                                const std::string& ns,
                                                                const std::string& name,
                                                                int64_t version) {
  const auto key = [&](int64_t v) { return ns + "/" + name + "@" + std::to_string(v); };
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key(version));
    if (version != 0 && found != kept_.end()) return found->second;
  }
  const auto row = store_.GetPolicy(deadline, ns, name, version);
  Policy policy;
  if (row.ok()) {
    WINNOW_ASSIGN_OR_RETURN(policy, FromBody(name, row->version, row->body));
    policy.create_time = row->create_time;
  } else if (row.status().code() == StatusCode::kNotFound && name == "default" && version <= 1) {
    policy = DefaultPolicy();
  } else {
    return row.status();
  }
  policy.ns = ns;
  const std::string made = key(policy.version);
  auto decider = std::make_shared<const Decider>(EmbeddedModel(), std::move(policy));
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kKept) kept_.clear();
  return kept_[made] = std::move(decider);
}

}  // namespace winnow::classification
