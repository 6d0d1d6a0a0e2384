#include <algorithm>
#include <limits>

#include "services/classification/api/handlers.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/page_token.h"
#include "services/platform/grpc/errors/rpc_status.h"

// Policies, and the audit of who changed what.
namespace winnow::classification {
namespace {

constexpr size_t kBatch = 1000;
constexpr uint8_t kAuditToken = 40;
constexpr int kTries = 3;

// The name of the policy that a request is about.
template <class Request>
std::string CheckNamed(const Request& request, Violations& violations) {
  if (!request.has_policy()) violations.Add("policy", "is required: set the policy");
  return ToPolicyName(request.policy().name(), "policy.name", violations);
}

// The newest version; one without rules for a policy that is not there, where it may be new.
StatusOr<Policy> ReadNewest(Deadline deadline, CachedPolicyStore& policies, const std::string& ns,
                            const std::string& name, bool or_new) {
  const auto decider = policies.Get(deadline, ns, name, 0);
  if (decider.ok()) return (*decider)->policy();
  if (!or_new || decider.status().code() != StatusCode::kNotFound) return decider.status();
  return Policy{.ns = ns, .name = name};
}

}  // namespace

Status CheckWanted(const rpc::CallContext& call) {
  if (call.cancelled()) return rpc::Cancelled("the client cancelled the call");
  if (call.TimeLeft().count() > 0) return OkStatus();
  return DeadlineExceeded("not done before the deadline: send less, or give it more time");
}

StatusOr<v1::GetPolicyResponse> Handlers::GetPolicy(const rpc::CallContext& call,
                                                    const v1::GetPolicyRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  const PolicyRef policy = ToPolicyRef(request.policy_name(), request.policy_version(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const auto decider, stores_.cached_policies.Get(
                                                  call.deadline, ns, policy.name, policy.version));
  return rpc::Respond(&v1::GetPolicyResponse::mutable_policy, ToProto(decider->policy()));
}

StatusOr<Policy> Handlers::Update(const rpc::CallContext& call,
                                  const v1::UpdatePolicyRequest& request,
                                  const PolicyStore::NewPolicy& asked) {
  WINNOW_ASSIGN_OR_RETURN(const Policy before,
                          ReadNewest(call.deadline, stores_.cached_policies, asked.ns, asked.name,
                                     request.allow_missing()));
  const std::string& etag = request.policy().etag();
  if (!etag.empty() && (before.version == 0 || etag != EtagOf(before))) {
    return Aborted(Reason::kStaleEtag, "the policy is " + LabelOf(before) + " now: read it again");
  }
  Violations violations;
  Policy after = WithChange(before, request.policy(), request.update_mask(), violations);
  CheckPolicy(after, "policy.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (before.version != 0 && ToBody(after) == ToBody(before)) return before;
  after.version = before.version + 1;
  PolicyStore::NewPolicy made = asked;
  made.base = before.version;
  made.first = asked.name == "default" ? 1 : 0;
  made.body = ToBody(after);
  made.audit.before = before.version == 0 ? "" : LabelOf(before);
  made.audit.after = LabelOf(after);
  WINNOW_ASSIGN_OR_RETURN(const int64_t version, stores_.policies.PutPolicy(call.deadline, made));
  WINNOW_ASSIGN_OR_RETURN(const auto decider, stores_.cached_policies.Get(call.deadline, asked.ns,
                                                                          asked.name, version));
  return decider->policy();
}

StatusOr<v1::UpdatePolicyResponse> Handlers::UpdatePolicy(const rpc::CallContext& call,
                                                          const v1::UpdatePolicyRequest& request) {
  Violations violations;
  PolicyStore::NewPolicy asked;
  asked.ns = ToNamespace(request.namespace_(), violations);
  asked.name = CheckNamed(request, violations);
  const Actor speaker = ToActor(call, request, violations);
  asked.audit = {.actor = speaker.actor, .action = "policy", .note = speaker.note};
  asked.request = ToRequestKey(asked.ns, "UpdatePolicy", request.request_id(), request, Needed::kNo,
                               violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  v1::UpdatePolicyResponse response;
  WINNOW_ASSIGN_OR_RETURN(const auto done,
                          stores_.requests.FindRequest(call.deadline, asked.request));
  if (done) {
    WINNOW_ASSIGN_OR_RETURN(
        const auto decider,
        stores_.cached_policies.Get(call.deadline, asked.ns, asked.name, (*done)[0]));
    *response.mutable_policy() = ToProto(decider->policy());
    return response;
  }
  auto updated = Update(call, request, asked);
  // Without an etag it is meant for whatever is in force: another version came in between.
  for (int tries = 1; request.policy().etag().empty() && tries < kTries &&
                      ReasonOf(updated.status()) == Reason::kStaleEtag;
       ++tries) {
    updated = Update(call, request, asked);
  }
  WINNOW_RETURN_IF_ERROR(updated.status());
  *response.mutable_policy() = ToProto(*updated);
  return response;
}

StatusOr<v1::PreviewPolicyResponse> Handlers::PreviewPolicy(
    const rpc::CallContext& call, const v1::PreviewPolicyRequest& request) {
  Violations violations;
  const VideoKey key = ToVideoKey(request.namespace_(), request.video_id(), violations);
  const std::string name = CheckNamed(request, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.sample_size(), 1000, 10'000));
  WINNOW_ASSIGN_OR_RETURN(Policy policy, ReadNewest(call.deadline, stores_.cached_policies, key.ns,
                                                    name, /*or_new=*/true));
  policy = WithChange(std::move(policy), request.policy(), request.update_mask(), violations);
  CheckPolicy(policy, "policy.", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Comment> sample,
                          stores_.comments.NewestComments(call.deadline, key, size));
  const Decider decider(EmbeddedModel(), std::move(policy));
  std::map<std::pair<CommentStatus, CommentStatus>, int64_t> matrix;
  StatusCounts counts{};
  for (size_t begin = 0; begin < sample.size(); begin += kBatch) {
    std::vector<std::string> ids;
    for (size_t i = begin; i < std::min(sample.size(), begin + kBatch); ++i) {
      ids.push_back(sample[i].id);
    }
    WINNOW_ASSIGN_OR_RETURN(const auto now,
                            stores_.verdicts.GetClassifications(call.deadline, key, ids));
    for (size_t i = 0; i < ids.size(); ++i) {
      WINNOW_RETURN_IF_ERROR(CheckWanted(call));
      const CommentStatus then = decider.Decide(sample[begin + i].text).outcome.status;
      ++counts[static_cast<size_t>(then)];
      ++matrix[{now[i] ? now[i]->status : CommentStatus::kNone, then}];
    }
  }
  v1::PreviewPolicyResponse response;
  *response.mutable_counts() = ToProto(counts);
  for (const auto& [pair, count] : matrix) {
    v1::ConfusionCell& cell = *response.add_matrix();
    cell.set_base_status(ToProto(pair.first));
    cell.set_status(ToProto(pair.second));
    cell.set_count(count);
  }
  return response;
}

StatusOr<v1::ListAuditEntriesResponse> Handlers::ListAuditEntries(
    const rpc::CallContext& call, const v1::ListAuditEntriesRequest& request) {
  Violations violations;
  const std::string ns = ToNamespace(request.namespace_(), violations);
  if (!request.video_id().empty()) ToVideoKey("", request.video_id(), violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  WINNOW_ASSIGN_OR_RETURN(const int size, PageSize(request.page_size(), 100, 1000));
  const uint64_t filter = Hash64(ns + "/" + request.video_id());
  int64_t before = std::numeric_limits<int64_t>::max();
  WINNOW_RETURN_IF_ERROR(ReadPageToken(request.page_token(), kAuditToken, filter, before));
  WINNOW_ASSIGN_OR_RETURN(
      std::vector<AuditEntry> entries,
      stores_.audit.ListAudit(call.deadline, ns, request.video_id(), before, size + 1));
  v1::ListAuditEntriesResponse response;
  if (TrimPage(entries, size))
    response.set_next_page_token(MakePageToken(kAuditToken, filter, entries.back().id));
  for (const AuditEntry& entry : entries) *response.add_entries() = ToProto(entry);
  return response;
}

}  // namespace winnow::classification
