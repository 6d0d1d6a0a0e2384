
#include "services/dedup/api/convert.h"
#include "services/dedup/text/document.h"
#include "services/platform/base/page_token.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::dedup {
namespace {

constexpr int kDefaultPreviewed = 20'000;
constexpr int kMaxPreviewed = 100'000;
constexpr int kDefaultChanges = 50;
constexpr int kMaxChanges = 1'000;

static_assert(static_cast<int>(RuleMode::kCalibrated) == v1::RULE_MODE_CALIBRATED);

std::string NamespaceOf(const std::string& ns) {
  return ns.empty() ? std::string(kDefaultNamespace) : ns;
}

// By the rule of page sizes: 0 is the default, above the most is the most, negative is refused.
int SizeOf(int requested, int usual, int most, const std::string& field, Violations& violations) {
  const StatusOr<int> size = PageSize(requested, usual, most);
  if (size.ok()) return *size;
  violations.Add(field, "must not be negative; 0 means " + std::to_string(usual));
  return usual;
}

template <class Request>
PolicyChange ChangeOf(const Request& request, Violations& violations) {
  if (!request.has_policy()) violations.Add("policy", "is required: set the new values");
  return FromProto(request.policy(), request.update_mask(), violations);
}

v1::Verdict VerdictOf(const Replay::Outcome& outcome) {
  return static_cast<v1::Verdict>(outcome.verdict);
}

}  // namespace

v1::Policy ToProto(const std::string& ns, const PolicyVersion& version) {
  const Policy& rules = version.rules;
  v1::Policy out;
  out.set_version(rules.version);
  *out.mutable_window() = ToDuration(rules.window);
  out.set_token_threshold(rules.token_threshold);
  out.set_candidate_floor(rules.candidate_floor);
  out.set_chain_floor(rules.chain_floor);
  out.set_same_channel(rules.same_channel);
  out.set_citation_channels(rules.citation_channels);
  out.set_review_rate(rules.review_rate);
  out.set_rule_mode(static_cast<v1::RuleMode>(rules.rule_mode));
  out.set_edit_threshold(rules.edit_threshold);
  out.set_semantic_threshold(rules.semantic_threshold);
  out.set_lead_threshold(rules.lead_threshold);
  out.set_least_probability(rules.least_probability);
  out.set_newest_documents(rules.newest_documents);
  out.set_etag(EtagOf(ns, rules));
  if (version.create_time) *out.mutable_create_time() = ToTimestamp(*version.create_time);
  out.set_actor(version.actor);
  out.set_note(version.note);
  out.set_namespace_(ns);
  return out;
}

PolicyChange FromProto(const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                       Violations& violations) {
  PolicyChange change;
  if (mask.paths().empty()) {
    violations.Add("update_mask", "is required: name what changes, any of " + PolicyFieldNames());
  }
  for (int i = 0; i < mask.paths_size(); ++i) {
    if (!IsPolicyField(mask.paths(i))) {
      violations.Add("update_mask.paths[" + std::to_string(i) + "]",
                     "cannot be changed: use any of " + PolicyFieldNames());
      continue;
    }
    change.fields.push_back(mask.paths(i));
  }
  const StatusOr<Micros> window = FromDuration(policy.window());
  if (window.ok()) {
    change.values.window = *window;
  } else {
    violations.Add("policy.window", "is not a valid duration");
  }
  change.values.token_threshold = policy.token_threshold();
  change.values.candidate_floor = policy.candidate_floor();
  change.values.chain_floor = policy.chain_floor();
  change.values.same_channel = policy.same_channel();
  change.values.citation_channels = policy.citation_channels();
  change.values.review_rate = policy.review_rate();
  change.values.rule_mode = static_cast<RuleMode>(policy.rule_mode());
  change.values.edit_threshold = policy.edit_threshold();
  change.values.semantic_threshold = policy.semantic_threshold();
  change.values.lead_threshold = policy.lead_threshold();
  change.values.least_probability = policy.least_probability();
  change.values.newest_documents = policy.newest_documents();
  return change;
}

StatusOr<PolicyUpdate> FromProto(const v1::UpdatePolicyRequest& request) {
  Violations violations;
  PolicyUpdate update;
  update.ns = NamespaceOf(request.namespace_());
  CheckNamespace(update.ns, "namespace", violations);
  update.change = ChangeOf(request, violations);
  update.etag = request.policy().etag();
  update.note = request.note();
  update.actor = request.actor();
  update.request_id = request.request_id();
  CheckText(update.note, kMaxNote, "note", violations);
  CheckText(update.actor, kMaxActor, "actor", violations);
  CheckText(update.request_id, kMaxRequestId, "request_id", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return update;
}

StatusOr<PreviewQuery> FromProto(const v1::PreviewPolicyRequest& request) {
  Violations violations;
  PreviewQuery query;
  query.ns = NamespaceOf(request.namespace_());
  CheckNamespace(query.ns, "namespace", violations);
  query.change = ChangeOf(request, violations);
  query.max_documents = SizeOf(request.max_documents(), kDefaultPreviewed, kMaxPreviewed,
                               "max_documents", violations);
  query.max_changes =
      SizeOf(request.max_changes(), kDefaultChanges, kMaxChanges, "max_changes", violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return query;
}

v1::PreviewPolicyResponse ToProto(const Preview& preview) {
  v1::PreviewPolicyResponse out;
  out.set_document_count(preview.document_count);
  if (preview.from) *out.mutable_from_time() = ToTimestamp(*preview.from);
  if (preview.until) *out.mutable_until_time() = ToTimestamp(*preview.until);
  out.set_duplicate_count_before(preview.duplicates_before);
  out.set_duplicate_count_after(preview.duplicates_after);
  out.set_newly_duplicate_count(preview.newly_duplicate);
  out.set_newly_unique_count(preview.newly_unique);
  out.set_other_original_count(preview.other_original);
  for (const Preview::Change& change : preview.changes) {
    v1::PolicyChange& to = *out.add_changes();
    to.set_document_id(change.document_id);
    to.set_channel(change.channel);
    to.set_verdict_before(VerdictOf(change.before));
    to.set_verdict_after(VerdictOf(change.after));
    to.set_original_id_before(change.original_before);
    to.set_original_id_after(change.original_after);
    to.set_stage_after(static_cast<v1::Stage>(change.after.stage));
    to.set_similarity_after(change.after.similarity);
  }
  return out;
}

}  // namespace winnow::dedup
