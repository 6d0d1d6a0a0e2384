#include "services/classification/api/convert.h"

#include <charconv>
#include <cmath>

#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/hash.h"
#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"

namespace winnow::classification {
namespace {

constexpr size_t kMaxActor = 128;
constexpr size_t kMaxNote = 1000;
constexpr size_t kMaxListed = 10'000;
constexpr size_t kMaxId = 64;
constexpr size_t kMaxIds = 1000;
constexpr size_t kMaxRequestId = 64;

}  // namespace

std::string ToNamespace(const std::string& ns, Violations& violations) {
  if (ns.empty()) return "default";
  if (!IsSlug(ns)) violations.Add("namespace", "must be [a-z0-9-], 1 to 64 characters");
  return ns;
}

VideoKey ToVideoKey(const std::string& ns, const std::string& video_id, Violations& violations) {
  VideoKey key{ToNamespace(ns, violations), video_id};
  if (!IsVideoId(video_id)) {
    violations.Add("video_id", "must be [A-Za-z0-9_.-], 1 to 128 characters");
  }
  return key;
}

int64_t ToNumber(const std::string& id) {
  int64_t number = 0;
  const char* end = id.data() + id.size();
  const auto [last, error] = std::from_chars(id.data(), end, number);
  // One way to write each: an id is compared as a text elsewhere.
  return error == std::errc() && last == end && number > 0 && ToId(number) == id ? number : 0;
}

std::string ToId(int64_t number) { return number == 0 ? "" : std::to_string(number); }

StatusOr<NumberKey> ToKey(const std::string& ns, const std::string& id, const std::string& field,
                          const std::string& resource, Violations& violations) {
  NumberKey key{ToNamespace(ns, violations), ToNumber(id)};
  if (id.empty() || id.size() > kMaxId) violations.Add(field, "is required, 1 to 64 bytes");
  CheckNoNul(id, field, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  if (key.id == 0) return NotFound(resource, id);
  return key;
}

RequestKey ToRequestKey(const std::string& ns, const char* method, const std::string& request_id,
                        const google::protobuf::Message& request, Needed needed,
                        Violations& violations) {
  if (CountCharacters(request_id) > kMaxRequestId) {
    violations.Add("request_id", "is over 64 characters");
  } else if (request_id.empty() && needed == Needed::kYes) {
    violations.Add("request_id", "is required: an id of this call, new for each that is another");
  }
  CheckNoNul(request_id, "request_id", violations);
  return {ns, method, request_id, Hash64(request.SerializeAsString())};
}

StatusOr<VideoKey> ToVideoKey(const std::string& ns, const std::string& video_id) {
  Violations violations;
  VideoKey key = ToVideoKey(ns, video_id, violations);
  WINNOW_RETURN_IF_ERROR(violations.ToStatus());
  return key;
}

CommentStatus ToStatus(v1::CommentStatus status, const std::string& field, Violations& violations) {
  if (status < v1::COMMENT_STATUS_NORMAL || status > v1::COMMENT_STATUS_CONTENT_SUGGESTION) {
    violations.Add(field, "is required: set NORMAL, FILTERED or CONTENT_SUGGESTION");
    return CommentStatus::kNone;
  }
  return static_cast<CommentStatus>(status);
}

std::string ToActor(const std::string& actor, const std::string& caller, Violations& violations) {
  if (CountCharacters(actor) > kMaxActor) violations.Add("actor", "is over 128 characters");
  CheckNoNul(actor, "actor", violations);
  return actor.empty() ? caller : actor;
}

void CheckNote(const std::string& note, Violations& violations) {
  if (CountCharacters(note) > kMaxNote) violations.Add("note", "is over 1,000 characters");
  CheckNoNul(note, "note", violations);
}

void CheckNoNul(const std::string& text, const std::string& field, Violations& violations) {
  if (text.find('\0') == std::string::npos) return;
  violations.Add(field, "holds the character U+0000, which cannot be stored: remove it");
}

void CheckCommentIds(const std::vector<std::string>& ids, Violations& violations) {
  if (ids.empty() || ids.size() > kMaxIds) {
    violations.Add("comment_ids",
                   "has " + std::to_string(ids.size()) + " entries: send 1 to 1,000");
    return;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    CheckNoNul(ids[i], "comment_ids[" + std::to_string(i) + "]", violations);
  }
}

v1::CommentStatus ToProto(CommentStatus status) {
  return status == CommentStatus::kNone ? v1::COMMENT_STATUS_UNCLASSIFIED
                                        : static_cast<v1::CommentStatus>(status);
}

namespace {

// Six digits: what a float holds, without the noise of its binary places.
double ToScore(float score) { return std::round(static_cast<double>(score) * 1e6) / 1e6; }

}  // namespace

v1::StatusCounts ToProto(const StatusCounts& counts) {
  v1::StatusCounts proto;
  proto.set_unclassified(counts[0]);
  proto.set_normal(counts[1]);
  proto.set_filtered(counts[2]);
  proto.set_content_suggestion(counts[3]);
  return proto;
}

v1::Run ToProto(const Run& run) {
  v1::Run proto;
  proto.set_id(ToId(run.id));
  proto.set_namespace_(run.video.ns);
  proto.set_video_id(run.video.video_id);
  proto.set_classifier(run.classifier);
  proto.set_model(run.model);
  proto.set_policy_name(run.policy);
  proto.set_policy_version(run.policy_version);
  proto.set_state(static_cast<v1::RunState>(run.state));
  proto.set_input_count(run.input_count);
  proto.set_classified_count(run.classified);
  proto.set_failed_count(run.failed);
  *proto.mutable_counts() = ToProto(run.counts);
  proto.set_active(run.active);
  proto.set_activate(run.activate);
  proto.set_budget_micros(run.budget_micros);
  proto.set_call_count(run.calls);
  proto.set_cost_micros(run.cost_micros);
  proto.set_pause_reason(static_cast<v1::FailureKind>(run.pause_reason));
  *proto.mutable_create_time() = ToTimestamp(run.create_time);
  if (run.end_time) *proto.mutable_end_time() = ToTimestamp(*run.end_time);
  return proto;
}

v1::Classification ToProto(const Resolved& resolved) {
  v1::Classification proto;
  proto.set_comment_id(resolved.comment_id);
  proto.set_status(ToProto(resolved.status));
  proto.set_reason(resolved.reason);
  if (resolved.score >= 0) proto.set_score(ToScore(resolved.score));
  proto.set_source(static_cast<v1::VerdictSource>(resolved.source));
  proto.set_failure(static_cast<v1::FailureKind>(resolved.failure));
  proto.set_run_id(ToId(resolved.run));
  proto.set_model(resolved.model);
  proto.set_policy_name(resolved.policy);
  proto.set_policy_version(resolved.policy_version);
  proto.set_stale(resolved.stale);
  *proto.mutable_publish_time() = ToTimestamp(resolved.sort_time);
  if (resolved.decide_time) *proto.mutable_decide_time() = ToTimestamp(*resolved.decide_time);
  if (!resolved.overridden) return proto;
  proto.set_overridden_status(ToProto(resolved.own_status));
  proto.set_actor(resolved.actor);
  if (resolved.override_time) *proto.mutable_override_time() = ToTimestamp(*resolved.override_time);
  return proto;
}

v1::AuditEntry ToProto(const AuditEntry& entry) {
  v1::AuditEntry proto;
  proto.set_id(ToId(entry.id));
  *proto.mutable_create_time() = ToTimestamp(entry.create_time);
  proto.set_actor(entry.actor);
  proto.set_action(entry.action);
  proto.set_video_id(entry.video_id);
  proto.set_comment_id(entry.comment_id);
  proto.set_run_id(ToId(entry.run));
  proto.set_appeal_id(ToId(entry.appeal));
  proto.set_before(entry.before);
  proto.set_after(entry.after);
  proto.set_note(entry.note);
  return proto;
}

v1::Appeal ToProto(const Appeal& appeal) {
  v1::Appeal proto;
  proto.set_id(ToId(appeal.id));
  proto.set_namespace_(appeal.video.ns);
  proto.set_video_id(appeal.video.video_id);
  proto.set_comment_id(appeal.comment_id);
  proto.set_status(ToProto(appeal.status));
  proto.set_actor(appeal.actor);
  proto.set_note(appeal.note);
  proto.set_state(static_cast<v1::AppealState>(appeal.state));
  *proto.mutable_create_time() = ToTimestamp(appeal.create_time);
  proto.set_resolver(appeal.resolver);
  proto.set_resolve_note(appeal.resolve_note);
  if (appeal.resolve_time) *proto.mutable_resolve_time() = ToTimestamp(*appeal.resolve_time);
  return proto;
}

namespace {

v1::CommentStatus StatusNamed(const std::string& name) {
  for (size_t i = 1; i < kStatuses; ++i) {
    const auto status = static_cast<CommentStatus>(i);
    if (name == NameOf(status)) return ToProto(status);
  }
  return v1::COMMENT_STATUS_UNCLASSIFIED;
}

}  // namespace

v1::WatchClassificationsResponse ToEvent(const AuditEntry& entry) {
  v1::WatchClassificationsResponse event;
  if (entry.action == "activate" || entry.action == "rollback") {
    event.mutable_activated()->set_video_id(entry.video_id);
    event.mutable_activated()->set_run_id(ToId(entry.run));
    event.mutable_activated()->set_previous_run_id(entry.before);
  } else if (entry.action == "delete_video") {
    event.mutable_deleted()->set_video_id(entry.video_id);
  } else if (!entry.comment_id.empty() && entry.before != entry.after && !entry.after.empty()) {
    v1::ClassificationChanged& changed = *event.mutable_changed();
    changed.set_video_id(entry.video_id);
    changed.set_comment_id(entry.comment_id);
    changed.set_previous_status(StatusNamed(entry.before));
    changed.set_status(StatusNamed(entry.after));
    changed.set_audit_entry_id(ToId(entry.id));
  }
  return event;
}

v1::TextVerdict ToProto(const Decider& decider, const Decider::Decision& decision) {
  v1::TextVerdict proto;
  proto.set_status(ToProto(decision.outcome.status));
  proto.set_reason(decision.outcome.reason);
  const std::vector<Head>& heads = decider.model().heads();
  for (size_t i = 0; i < heads.size(); ++i) {
    (*proto.mutable_scores())[heads[i].name] = ToScore(decision.scores[i]);
  }
  if (decision.head >= 0) proto.set_head(heads[static_cast<size_t>(decision.head)].name);
  return proto;
}

Outcome FromProto(const v1::Verdict& verdict, const std::string& prefix, Violations& violations) {
  Outcome outcome;
  outcome.source = Source::kExternal;
  if (verdict.has_score()) outcome.score = static_cast<float>(verdict.score());
  outcome.reason = verdict.reason();
  if (verdict.failure() != v1::FAILURE_KIND_UNSPECIFIED) {
    if (verdict.status() != v1::COMMENT_STATUS_UNSPECIFIED || verdict.failure() < 0 ||
        verdict.failure() > v1::FAILURE_KIND_BUDGET) {
      violations.Add(prefix + "failure", "must be a known kind, and stand without a status");
    } else {
      outcome.failure = static_cast<Failure>(verdict.failure());
    }
  } else {
    outcome.status = ToStatus(verdict.status(), prefix + "status", violations);
  }
  if (outcome.status == CommentStatus::kFiltered && outcome.reason.empty()) {
    outcome.reason = "auto_detected";
  }
  if (!IsReason(outcome.reason)) {
    violations.Add(prefix + "reason", "must be [a-z0-9_], at most 64 characters");
  }
  if (verdict.has_score() && !(verdict.score() >= 0 && verdict.score() <= 1)) {
    violations.Add(prefix + "score", "must be 0 to 1");
  }
  return outcome;
}

std::vector<v1::Verdict> FromLists(const std::string& json, Violations& violations) {
  std::vector<v1::Verdict> verdicts;
  JsonReader reader(json);
  const bool read = reader.ReadObject([&](std::string_view name) {
    CommentStatus status = CommentStatus::kNone;
    for (size_t i = 1; i < kStatuses; ++i) {
      if (name == NameOf(static_cast<CommentStatus>(i))) status = static_cast<CommentStatus>(i);
    }
    if (status == CommentStatus::kNone) return reader.Skip();
    return reader.ReadArray([&] {
      v1::Verdict verdict;
      verdict.set_status(ToProto(status));
      std::string id;
      if (verdicts.size() >= kMaxListed || !reader.ReadString(id)) return false;
      // Whatever is not an id is refused by name later; a message holds UTF-8 only.
      verdict.set_comment_id(IsValidUtf8(id) ? id : "");
      verdicts.push_back(std::move(verdict));
      return true;
    });
  });
  if (verdicts.size() >= kMaxListed && !read) {
    violations.Add("lists", "holds more than 10,000 ids: send them in parts");
  } else if (!read || reader.Peek() != JsonReader::Kind::kEnd) {
    violations.Add("lists", "is not {\"normal\":[],\"filtered\":[],\"content_suggestion\":[]}: " +
                                (read ? "something follows it" : reader.error()));
  }
  return verdicts;
}

std::string ToNdjson(const Resolved& resolved) {
  char score[32];
  const auto [end, error] = std::to_chars(score, score + sizeof score, ToScore(resolved.score));
  const bool scored = error == std::errc() && resolved.score >= 0;
  return "{\"comment_id\":" + JsonQuoted(resolved.comment_id) + ",\"status\":\"" +
         NameOf(resolved.status) + "\",\"reason\":" + JsonQuoted(resolved.reason) +
         ",\"score\":" + (scored ? std::string(score, end) : "null") + ",\"source\":\"" +
         NameOf(resolved.source) + "\",\"run_id\":\"" + ToId(resolved.run) +
         "\",\"model\":" + JsonQuoted(resolved.model) +
         ",\"policy_name\":" + JsonQuoted(resolved.policy) +
         ",\"policy_version\":" + std::to_string(resolved.policy_version) +
         ",\"actor\":" + JsonQuoted(resolved.actor) + "}";
}

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

}  // namespace winnow::classification
