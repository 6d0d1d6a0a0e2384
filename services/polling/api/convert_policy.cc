#include <charconv>
#include <map>

#include "services/platform/base/text.h"
#include "services/platform/proto/timestamp.h"
#include "services/polling/api/convert.h"

// Rules and statistics of kinds.
namespace winnow::polling {
namespace {

constexpr size_t kMaxActor = 128;

// How one field is taken over. Errors of conversion stay as values that no policy may have.
using Take = void (*)(const v1::Policy&, Policy&);

constexpr Micros kNoDuration(-1);

Micros FromProto(bool has, const google::protobuf::Duration& duration, Micros usual) {
  return has ? FromDuration(duration).value_or(kNoDuration) : usual;
}

#define WINNOW_DURATION(name)                                                                     \
  {                                                                                               \
#name, [](const v1::Policy& from,                                                             \
              Policy& to) { to.name = FromProto(from.has_##name(), from.name(), Policy().name); } \
  }
#define WINNOW_NUMBER(name)                                                             \
  {                                                                                     \
#name, [](const v1::Policy& from,                                                   \
              Policy& to) { to.name = from.name() == 0 ? Policy().name : from.name(); } \
  }
const std::map<std::string, Take>& Fields() {
  static const std::map<std::string, Take> fields = {
      {"states", [](const v1::Policy& from,
                    Policy& to) { to.states.assign(from.states().begin(), from.states().end()); }},
      {"transitions",
       [](const v1::Policy& from, Policy& to) {
         to.transitions.clear();
         for (const v1::StateTransition& each : from.transitions()) {
           to.transitions.emplace_back(each.from(), each.to());
         }
       }},
      WINNOW_DURATION(lease),
      WINNOW_DURATION(no_progress),
      WINNOW_DURATION(deadline),
      WINNOW_DURATION(sweep_interval),
      WINNOW_DURATION(poll_interval),
      WINNOW_DURATION(backoff_base),
      WINNOW_DURATION(backoff_max),
      WINNOW_DURATION(retention),
      WINNOW_NUMBER(max_attempts),
      WINNOW_NUMBER(max_losses),
      {"view_prefix",
       [](const v1::Policy& from, Policy& to) { to.view_prefix = from.view_prefix(); }},
  };
  return fields;
}
#undef WINNOW_DURATION
#undef WINNOW_NUMBER

}  // namespace

std::string ToActor(const std::string& actor, const std::string& caller, Violations& violations) {
  if (CountCharacters(actor) > kMaxActor) violations.Add("actor", "is over 128 characters");
  return actor.empty() ? caller : actor;
}

std::optional<int64_t> ToBase(const std::string& etag, Violations& violations) {
  if (etag.empty()) return std::nullopt;
  int64_t version = 0;
  const auto [end, error] = std::from_chars(etag.data(), etag.data() + etag.size(), version);
  if (error != std::errc() || end != etag.data() + etag.size() || version < 0) {
    violations.Add("policy.etag", "is not a valid policy etag: send the one that was read");
  }
  return version;
}

PolicyChange ToChange(const v1::Policy& policy, const google::protobuf::FieldMask& mask,
                      Violations& violations) {
  std::vector<Take> takes;
  for (int i = 0; i < mask.paths_size(); ++i) {
    const auto field = Fields().find(mask.paths(i));
    if (field == Fields().end()) {
      violations.Add("update_mask.paths[" + std::to_string(i) + "]",
                     "is not a policy field that can be changed");
      continue;
    }
    takes.push_back(field->second);
  }
  if (mask.paths().empty()) {
    for (const auto& [name, take] : Fields()) takes.push_back(take);
  }
  return [takes = std::move(takes), policy](const Policy& before) {
    Policy after = before;
    for (const Take take : takes) take(policy, after);
    return after;
  };
}

v1::Policy ToProto(const PolicyVersion& version) {
  const Policy& policy = version.policy;
  v1::Policy proto;
  for (const std::string& state : policy.states) proto.add_states(state);
  for (const auto& [from, to] : policy.transitions) {
    v1::StateTransition& transition = *proto.add_transitions();
    transition.set_from(from);
    transition.set_to(to);
  }
  *proto.mutable_lease() = ToDuration(policy.lease);
  *proto.mutable_no_progress() = ToDuration(policy.no_progress);
  *proto.mutable_deadline() = ToDuration(policy.deadline);
  *proto.mutable_sweep_interval() = ToDuration(policy.sweep_interval);
  *proto.mutable_poll_interval() = ToDuration(policy.poll_interval);
  *proto.mutable_backoff_base() = ToDuration(policy.backoff_base);
  *proto.mutable_backoff_max() = ToDuration(policy.backoff_max);
  *proto.mutable_retention() = ToDuration(policy.retention);
  proto.set_max_attempts(policy.max_attempts);
  proto.set_max_losses(policy.max_losses);
  proto.set_view_prefix(policy.view_prefix);
  proto.set_version(version.version);
  proto.set_etag(std::to_string(version.version));
  if (version.create_time != Time())
    *proto.mutable_create_time() = ToTimestamp(version.create_time);
  proto.set_actor(version.actor);
  proto.set_note(version.note);
  return proto;
}

v1::WouldSweep ToProto(const WouldSweep& sweep) {
  v1::WouldSweep proto;
  proto.set_reason(static_cast<v1::StaleReason>(sweep.reason));
  proto.set_count(sweep.count);
  for (const std::string& id : sweep.ids) proto.add_ids(id);
  return proto;
}

v1::KindStats ToProto(const KindStats& stats) {
  v1::KindStats proto;
  proto.set_kind(stats.kind);
  proto.set_policy_version(stats.version);
  if (stats.clock.pause_time) *proto.mutable_pause_time() = ToTimestamp(*stats.clock.pause_time);
  for (const KindStats::Count& count : stats.counts) {
    v1::JobCount& to = *proto.add_counts();
    to.set_state(count.state);
    to.set_phase(static_cast<v1::JobPhase>(count.phase));
    to.set_count(count.count);
    *to.mutable_oldest_age() = ToDuration(stats.now - count.oldest);
  }
  *proto.mutable_due_lag() = ToDuration(stats.DueLag());
  return proto;
}

}  // namespace winnow::polling
