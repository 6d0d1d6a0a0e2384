#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/classification/comment_parser.h"
#include "services/classification/policy.h"
#include "services/classification/records.h"
#include "services/platform/status.h"
#include "winnow/classification/v1/classification_service.pb.h"

// The only place that maps messages to the domain and back.
namespace winnow::classification {

// "default" for an empty namespace; violations on `namespace` and `video_id`.
VideoKey ToVideoKey(const std::string& ns, const std::string& video_id, Violations& violations);
std::string ToNamespace(const std::string& ns, Violations& violations);
// INVALID_ARGUMENT.
StatusOr<VideoKey> ToVideoKey(const std::string& ns, const std::string& video_id);
// Known and set; else a violation of `field`.
CommentStatus ToStatus(v1::CommentStatus status, const std::string& field, Violations& violations);
// `actor`, or the caller; at most 128 characters.
std::string ToActor(const std::string& actor, const std::string& caller, Violations& violations);
void CheckNote(const std::string& note, Violations& violations);
// A violation of `field` where `text` holds U+0000, which cannot be stored.
void CheckNoNul(const std::string& text, const std::string& field, Violations& violations);
// "default" for an empty name.
std::string ToPolicyName(const std::string& name, const std::string& field, Violations& violations);

Policy FromProto(const v1::Policy& policy);
v1::Policy ToProto(const Policy& policy);
// As it is stored, and back. The name and the version stand beside it.
std::string ToBody(const Policy& policy);
StatusOr<Policy> FromBody(const std::string& name, int64_t version, const std::string& body);

v1::Run ToProto(const Run& run);
v1::Classification ToProto(const Resolved& resolved);
v1::StatusCounts ToProto(const StatusCounts& counts);
v1::AuditEntry ToProto(const AuditEntry& entry);
v1::Appeal ToProto(const Appeal& appeal);
v1::TextVerdict ToProto(const Decider& decider, const Decider::Decision& decision);
v1::CommentStatus ToProto(CommentStatus status);

// The outcome of an external verdict, with violations under `prefix`.
Outcome FromProto(const v1::Verdict& verdict, const std::string& prefix, Violations& violations);
// {"normal":[...],"filtered":[...],"content_suggestion":[...]}; violations on `lists`.
std::vector<v1::Verdict> FromLists(const std::string& json, Violations& violations);

// A line of an export, without its line break.
std::string ToNdjson(const Resolved& resolved);

}  // namespace winnow::classification
