#include "services/classification/convert.h"

#include <charconv>

#include "services/platform/json_reader.h"
#include "services/platform/text.h"
#include "services/platform/timestamp.h"

namespace winnow::classification {
namespace {

constexpr size_t kMaxActor = 128;
constexpr size_t kMaxNote = 1000;
constexpr size_t kMaxListed = 10'000;

// Open enums: a number of no status is none, which CheckPolicy refuses.
CommentStatus KnownStatus(v1::CommentStatus status) {
  const bool known = status >= 0 && status < static_cast<int>(kStatuses);
  return known ? static_cast<CommentStatus>(status) : CommentStatus::kNone;
}

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

std::string ToPolicyName(const std::string& name, const std::string& field,
                         Violations& violations) {
  if (name.empty()) return "default";
  if (!IsSlug(name)) violations.Add(field, "must be [a-z0-9-], 1 to 64 characters");
  return name;
}

v1::CommentStatus ToProto(CommentStatus status) { return static_cast<v1::CommentStatus>(status); }

Policy FromProto(const v1::Policy& policy) {
  Policy domain{.name = policy.name(), .version = policy.version()};
  for (const v1::HeadRule& rule : policy.head_rules()) {
    domain.heads.push_back(
        {rule.head(), rule.threshold(), KnownStatus(rule.status()), rule.reason()});
  }
  for (const v1::TextRule& rule : policy.text_rules()) {
    domain.texts.push_back({rule.contains(), KnownStatus(rule.status()), rule.reason()});
  }
  domain.max_failed_share = policy.max_failed_share();
  return domain;
}

v1::Policy ToProto(const Policy& policy) {
  v1::Policy proto;
  proto.set_name(policy.name);
  proto.set_version(policy.version);
  for (const HeadRule& rule : policy.heads) {
    v1::HeadRule& out = *proto.add_head_rules();
    out.set_head(rule.head);
    out.set_threshold(rule.threshold);
    out.set_status(ToProto(rule.status));
    out.set_reason(rule.reason);
  }
  for (const TextRule& rule : policy.texts) {
    v1::TextRule& out = *proto.add_text_rules();
    out.set_contains(rule.contains);
    out.set_status(ToProto(rule.status));
    out.set_reason(rule.reason);
  }
  proto.set_max_failed_share(policy.max_failed_share);
  return proto;
}

std::string ToBody(const Policy& policy) { return ToProto(policy).SerializeAsString(); }

StatusOr<Policy> FromBody(const std::string& name, int64_t version, const std::string& body) {
  v1::Policy proto;
  if (!proto.ParseFromString(body)) return Internal("a stored policy cannot be read");
  Policy policy = FromProto(proto);
  policy.name = name;
  policy.version = version;
  return policy;
}

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
  proto.set_id(run.id);
  proto.set_namespace_(run.video.ns);
  proto.set_video_id(run.video.video_id);
  proto.set_classifier(run.classifier);
  proto.set_model(run.model);
  proto.set_policy(run.policy + "@" + std::to_string(run.policy_version));
  proto.set_state(static_cast<v1::RunState>(run.state));
  proto.set_input_count(run.input_count);
  proto.set_classified_count(run.classified);
  proto.set_failed_count(run.failed);
  *proto.mutable_counts() = ToProto(run.counts);
  proto.set_is_active(run.active);
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
  proto.set_score(resolved.score);
  proto.set_source(static_cast<v1::VerdictSource>(resolved.source));
  proto.set_failure(static_cast<v1::FailureKind>(resolved.failure));
  proto.set_run_id(resolved.run);
  proto.set_decided_by(resolved.decided_by);
  proto.set_policy(resolved.policy);
  proto.set_is_stale(resolved.stale);
  *proto.mutable_publish_time() = ToTimestamp(resolved.sort_time);
  if (resolved.overridden) proto.set_overridden_status(ToProto(resolved.own_status));
  return proto;
}

v1::AuditEntry ToProto(const AuditEntry& entry) {
  v1::AuditEntry proto;
  proto.set_id(entry.id);
  *proto.mutable_create_time() = ToTimestamp(entry.create_time);
  proto.set_actor(entry.actor);
  proto.set_action(entry.action);
  proto.set_video_id(entry.video_id);
  proto.set_comment_id(entry.comment_id);
  proto.set_run_id(entry.run);
  proto.set_before(entry.before);
  proto.set_after(entry.after);
  proto.set_note(entry.note);
  return proto;
}

v1::Appeal ToProto(const Appeal& appeal) {
  v1::Appeal proto;
  proto.set_id(appeal.id);
  proto.set_comment_id(appeal.comment_id);
  proto.set_status(ToProto(appeal.status));
  proto.set_actor(appeal.actor);
  proto.set_note(appeal.note);
  proto.set_is_resolved(appeal.resolved);
  proto.set_is_granted(appeal.granted);
  *proto.mutable_create_time() = ToTimestamp(appeal.create_time);
  return proto;
}

v1::TextVerdict ToProto(const Decider& decider, const Decider::Decision& decision) {
  v1::TextVerdict proto;
  proto.set_status(ToProto(decision.outcome.status));
  proto.set_reason(decision.outcome.reason);
  const std::vector<Head>& heads = decider.model().heads();
  for (size_t i = 0; i < heads.size(); ++i) {
    (*proto.mutable_scores())[heads[i].name] = decision.scores[i];
  }
  if (decision.head >= 0) proto.set_head(heads[static_cast<size_t>(decision.head)].name);
  return proto;
}

Outcome FromProto(const v1::Verdict& verdict, const std::string& prefix, Violations& violations) {
  Outcome outcome;
  outcome.source = Source::kExternal;
  outcome.score = verdict.score();
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
  if (!(outcome.score >= 0 && outcome.score <= 1)) {
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
      // Whatever is no id is refused by name later; a message holds UTF-8 only.
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
  const auto [end, error] = std::to_chars(score, score + sizeof score, resolved.score);
  return "{\"comment_id\":" + JsonQuoted(resolved.comment_id) + ",\"status\":\"" +
         NameOf(resolved.status) + "\",\"reason\":" + JsonQuoted(resolved.reason) +
         ",\"score\":" + std::string(score, error == std::errc() ? end : score) + ",\"source\":\"" +
         NameOf(resolved.source) + "\",\"run_id\":" + std::to_string(resolved.run) +
         ",\"model\":" + JsonQuoted(resolved.decided_by) +
         ",\"policy\":" + JsonQuoted(resolved.policy) + "}";
}

}  // namespace winnow::classification
