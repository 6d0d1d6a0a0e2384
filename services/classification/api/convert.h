#pragma once

#include <string>
#include <vector>

#include "services/classification/audit/audit_entry.h"
#include "services/classification/comments/comment_parser.h"
#include "services/classification/comments/comment_records.h"
#include "services/classification/people/appeal.h"
#include "services/classification/policy/policy.h"
#include "services/classification/policy/policy_codec.h"
#include "services/classification/runs/run.h"
#include "services/platform/base/status.h"
#include "winnow/classification/v1/classification_service.pb.h"

// The only place that maps messages to the domain and back.
namespace winnow::classification {

// "default" for an empty namespace; violations on `namespace` and `video_id`.
VideoKey ToVideoKey(const std::string& ns, const std::string& video_id, Violations& violations);
std::string ToNamespace(const std::string& ns, Violations& violations);
// INVALID_ARGUMENT.
StatusOr<VideoKey> ToVideoKey(const std::string& ns, const std::string& video_id);
// A run or an appeal by its opaque id. INVALID_ARGUMENT; NOT_FOUND where no `resource` has such an
// id.
StatusOr<NumberKey> ToKey(const std::string& ns, const std::string& id, const std::string& field,
                          const std::string& resource, Violations& violations);
// The number behind an opaque id; 0: nothing has it.
int64_t ToNumber(const std::string& id);
// "" for 0.
std::string ToId(int64_t number);
// The call as it may come again; a violation where it lacks an id it needs.
enum class Needed { kNo, kYes };
RequestKey ToRequestKey(const std::string& ns, const char* method, const std::string& request_id,
                        const google::protobuf::Message& request, Needed needed,
                        Violations& violations);
// Known and set, and no answer only; else a violation of `field`.
CommentStatus ToStatus(v1::CommentStatus status, const std::string& field, Violations& violations);
// `actor`, or the caller; at most 128 characters.
std::string ToActor(const std::string& actor, const std::string& caller, Violations& violations);
void CheckNote(const std::string& note, Violations& violations);
// A violation of `field` where `text` holds U+0000, which cannot be stored.
void CheckNoNul(const std::string& text, const std::string& field, Violations& violations);
// 1 to 1,000 of them.
void CheckCommentIds(const std::vector<std::string>& ids, Violations& violations);
// "default" for an empty name.
std::string ToPolicyName(const std::string& name, const std::string& field, Violations& violations);
// Both fields of a request that names a policy; violations on policy_name and policy_version.
struct PolicyRef {
  std::string name;
  int64_t version = 0;  // 0: the newest
};
PolicyRef ToPolicyRef(const std::string& name, int64_t version, Violations& violations);

// `base` with the fields of the mask as `policy` has them; violations on `update_mask`.
Policy WithChange(Policy base, const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                  Violations& violations);
v1::Policy ToProto(const Policy& policy);

v1::Run ToProto(const Run& run);
v1::Classification ToProto(const Resolved& resolved);
v1::StatusCounts ToProto(const StatusCounts& counts);
v1::AuditEntry ToProto(const AuditEntry& entry);
v1::Appeal ToProto(const Appeal& appeal);
v1::TextVerdict ToProto(const Decider& decider, const Decider::Decision& decision);
v1::CommentStatus ToProto(CommentStatus status);
// What a change of the audit is to those who watch verdicts; without an event for what changes
// none.
v1::WatchClassificationsResponse ToEvent(const AuditEntry& entry);

// The outcome of an external verdict, with violations under `prefix`.
Outcome FromProto(const v1::Verdict& verdict, const std::string& prefix, Violations& violations);
// {"normal":[...],"filtered":[...],"content_suggestion":[...]}; violations on `lists`.
std::vector<v1::Verdict> FromLists(const std::string& json, Violations& violations);

// A line of an export, without its line break.
std::string ToNdjson(const Resolved& resolved);

}  // namespace winnow::classification
