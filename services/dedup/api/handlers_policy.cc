// The rules of a namespace: read, changed, tried out.
#include <mutex>

#include "services/dedup/api/convert.h"
#include "services/dedup/api/handlers.h"
#include "services/dedup/policy/policy_store.h"
#include "services/platform/base/uuid.h"

namespace winnow::dedup {
namespace {

constexpr std::chrono::seconds kRetryPreview(2);

}  // namespace

StatusOr<v1::GetPolicyResponse> Handlers::GetPolicy(const rpc::CallContext& call,
                                                    const v1::GetPolicyRequest& request) {
  const std::string ns =
      request.namespace_().empty() ? std::string(kDefaultNamespace) : request.namespace_();
  Violations violations;
  CheckNamespace(ns, "namespace", violations);
  if (request.version() < 0) {
    violations.Add("version", "must not be negative; 0 means the one in force");
  }
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(
      const PolicyVersion version,
      store_.GetPolicy(call.deadline, ns, request.version(), parts_.initial_policy));
  return rpc::Respond(&v1::GetPolicyResponse::mutable_policy, ToProto(ns, version));
}

StatusOr<v1::UpdatePolicyResponse> Handlers::UpdatePolicy(const rpc::CallContext& call,
                                                          const v1::UpdatePolicyRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(PolicyUpdate update, FromProto(request));
  if (update.actor.empty()) update.actor = call.caller;
  // An ID of its own shows whether a commit of unknown outcome happened.
  if (update.request_id.empty()) update.request_id = NewUuidV7(parts_.clock.Now());
  WINNOW_ASSIGN_OR_RETURN(
      const PolicyVersion version,
      dedup::UpdatePolicy(parts_.logs, call.deadline, update, parts_.initial_policy));
  return rpc::Respond(&v1::UpdatePolicyResponse::mutable_policy, ToProto(update.ns, version));
}

StatusOr<v1::PreviewPolicyResponse> Handlers::PreviewPolicy(
    const rpc::CallContext& call, const v1::PreviewPolicyRequest& request) {
  WINNOW_ASSIGN_OR_RETURN(const PreviewQuery query, FromProto(request));
  const std::unique_lock lock(preview_, std::try_to_lock);
  if (!lock)
    return Overloaded(
        "another PreviewPolicy call is running, and one runs at a time: retry after the delay in "
        "RetryInfo",
        kRetryPreview);
  WINNOW_ASSIGN_OR_RETURN(PolicyVersion version,
                          store_.GetPolicy(call.deadline, query.ns, 0, parts_.initial_policy));
  const Policy before = version.rules;
  const Policy after = WithChange(before, query.change);
  Violations violations;
  CheckPolicy(after, "policy", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(
      const DecisionStore::Span span,
      store_.NewestSpan(call.deadline, query.ns, std::max(before.window, after.window),
                        query.max_documents));
  Preview preview(parts_.rules, before, after, span.first - 1,
                  static_cast<size_t>(query.max_changes), parts_.meaning());
  for (int64_t at = span.first - 1; at < span.last;) {
    WINNOW_ASSIGN_OR_RETURN(
        const std::vector<LogEntry> entries,
        store_.ReadPage(call.deadline, query.ns, at, span.last, parts_.model()));
    if (entries.empty()) break;
    for (const LogEntry& entry : entries) preview.Add(entry);
    at = entries.back().seq;
  }
  auto response = ToProto(preview);
  PolicyVersion next{after, "", "", {}};
  if (after != before) ++next.rules.version;
  *response.mutable_policy() = ToProto(query.ns, next);
  return response;
}

}  // namespace winnow::dedup
