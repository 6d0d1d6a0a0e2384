#include "services/classification/policy/policy_store.h"

#include "services/classification/audit/audit_store.h"
#include "services/classification/comments/request_store.h"
#include "services/classification/policy/policy_codec.h"
#include "services/classification/policy/policy_store.sql.h"

namespace winnow::classification {
StatusOr<PolicyStore::PolicyRow> PolicyStore::GetPolicy(Deadline deadline, const std::string& ns,
                                                        const std::string& name, int64_t version) {
  return reads_.Statements(deadline, [&](pg::Session& session) -> StatusOr<PolicyRow> {
    const pqxx::result rows = session.Execute(sql::kGetPolicy, ns, name, version);
    if (rows.empty()) return NotFound("policy", name);
    return PolicyRow{rows[0][0].as<int64_t>(), pg::ToBytes(rows[0][1]), pg::ToTime(rows[0][2])};
  });
}

StatusOr<int64_t> PolicyStore::PutPolicy(Deadline deadline, const NewPolicy& policy) {
  const Time now = clock_.Now();
  return writes_.Transaction(deadline, [&](pg::Session& session) -> StatusOr<int64_t> {
    WINNOW_ASSIGN_OR_RETURN(const auto done, Recall(session, policy.request));
    if (done) return (*done)[0];
    const int64_t version = policy.base + 1;
    const auto put = session.Execute(sql::kPutPolicy, policy.ns, policy.name, version, policy.first,
                                     pg::ToParameterBytes(policy.body), now);
    if (put.affected_rows() == 0) {
      return Aborted(Reason::kStaleEtag, "the policy has another version now: read it again");
    }
    AddAudit(session, policy.ns, policy.audit, now);
    WINNOW_RETURN_IF_ERROR(Remember(session, policy.request, 0, {version}, now));
    return version;
  });
}

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
