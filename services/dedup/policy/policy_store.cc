#include "services/dedup/policy/policy_store.h"

#include "services/dedup/policy/policy_store.sql.h"
#include "services/platform/postgres/log/log_transaction.h"

namespace winnow::dedup {
namespace {

PolicyVersion VersionOf(const pqxx::row& row) {
  PolicyVersion version;
  Policy& rules = version.rules;
  rules.version = row[0].as<int64_t>();
  rules.window = Micros(row[1].as<int64_t>());
  rules.token_threshold = row[2].as<double>();
  rules.candidate_floor = row[3].as<double>();
  rules.chain_floor = row[4].as<double>();
  rules.same_channel = row[5].as<bool>();
  rules.citation_channels = row[6].as<int>();
  version.actor = row[7].c_str();
  version.note = row[8].c_str();
  version.create_time = pg::ToTime(row[9]);
  rules.review_rate = row[10].as<double>();
  rules.rule_mode = static_cast<RuleMode>(row[11].as<int>());
  rules.edit_threshold = row[12].as<double>();
  rules.semantic_threshold = row[13].as<double>();
  rules.lead_threshold = row[14].as<double>();
  rules.least_probability = row[15].as<double>();
  rules.newest_documents = row[16].as<int>();
  return version;
}

std::optional<PolicyVersion> FirstOf(const pqxx::result& rows) {
  if (rows.empty()) return std::nullopt;
  return VersionOf(rows[0]);
}

void Insert(pg::Session& session, const std::string& ns, const Policy& policy,
            const std::string& actor, const std::string& note,
            const std::optional<std::string>& request_id) {
  session.Execute(sql::kInsertPolicy, ns, policy.version, policy.window.count(),
                  policy.token_threshold, policy.candidate_floor, policy.chain_floor,
                  policy.same_channel, policy.citation_channels, actor, note, request_id,
                  policy.review_rate, static_cast<int>(policy.rule_mode), policy.edit_threshold,
                  policy.semantic_threshold, policy.lead_threshold, policy.least_probability,
                  policy.newest_documents);
}

// Whether the version has the values that the update asks for, and says the same of itself.
bool IsWhatItLedTo(const PolicyUpdate& update, const PolicyVersion& version) {
  return WithChange(version.rules, update.change) == version.rules && version.note == update.note &&
         version.actor == update.actor;
}

Status Change(pg::Session& session, const PolicyUpdate& update, const Policy& initial,
              PolicyVersion& result) {
  if (auto earlier =
          FirstOf(session.Execute(sql::kReadPolicyByRequest, update.ns, update.request_id))) {
    if (!IsWhatItLedTo(update, *earlier)) {
      return InvalidField("request_id", "was used by a call that asked for another change");
    }
    result = *std::move(earlier);
    return OkStatus();
  }
  auto stored = ReadPolicyVersion(session, update.ns, 0);
  const Policy& before = stored ? stored->rules : initial;
  if (!update.etag.empty() && update.etag != EtagOf(update.ns, before)) {
    return Aborted(Reason::kStaleEtag, "the policy of namespace " + update.ns +
                                           " changed since it was read: it is " + "version " +
                                           std::to_string(before.version) + " now; read it again");
  }
  Policy after = WithChange(before, update.change);
  Violations violations;
  CheckPolicy(after, "policy", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (!stored) InsertInitialPolicy(session, update.ns, initial);
  if (after != before) {
    ++after.version;
    Insert(session, update.ns, after, update.actor, update.note, update.request_id);
  }
  result = ReadPolicyVersion(session, update.ns, 0).value();
  return OkStatus();
}

}  // namespace

std::optional<Policy> ReadPolicy(pg::Session& session, const std::string& ns) {
  auto version = ReadPolicyVersion(session, ns, 0);
  if (!version) return std::nullopt;
  return version->rules;
}

std::optional<PolicyVersion> ReadPolicyVersion(pg::Session& session, const std::string& ns,
                                               int64_t version) {
  return FirstOf(version == 0 ? session.Execute(sql::kReadPolicy, ns)
                              : session.Execute(sql::kReadPolicyVersion, ns, version));
}

void InsertInitialPolicy(pg::Session& session, const std::string& ns, const Policy& policy) {
  Insert(session, ns, policy, "", "", std::nullopt);
}

StatusOr<PolicyVersion> UpdatePolicy(pg::Pool& logs, Deadline deadline, const PolicyUpdate& update,
                                     const Policy& initial) {
  PolicyVersion result;
  const auto body = [&](pg::LogSession& log) {
    return Change(log.session(), update, initial, result);
  };
  // Running the body again is safe: it finds the request's id if the first commit went through.
  const auto settled = [](pg::Session&) -> StatusOr<bool> { return false; };
  WINNOW_RETURN_IF_ERROR(
      pg::LogTransaction::Run(logs, {"dedup", update.ns}, deadline, body, settled).status());
  return result;
}

}  // namespace winnow::dedup
