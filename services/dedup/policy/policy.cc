#include "services/dedup/policy/policy.h"

#include <algorithm>
#include <cstdio>

#include "services/platform/base/hash.h"

namespace winnow::dedup {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Below it nearly every document would be a candidate of every other.
constexpr double kMinFloor = 0.1;

struct Field {
  std::string_view name;
  void (*copy)(const Policy& from, Policy& to);
};

constexpr Field kFields[] = {
    {"window", [](const Policy& from, Policy& to) { to.window = from.window; }},
    {"token_threshold",
     [](const Policy& from, Policy& to) { to.token_threshold = from.token_threshold; }},
    {"candidate_floor",
     [](const Policy& from, Policy& to) { to.candidate_floor = from.candidate_floor; }},
    {"chain_floor", [](const Policy& from, Policy& to) { to.chain_floor = from.chain_floor; }},
    {"same_channel", [](const Policy& from, Policy& to) { to.same_channel = from.same_channel; }},
    {"citation_channels",
     [](const Policy& from, Policy& to) { to.citation_channels = from.citation_channels; }},
    {"rule_mode", [](const Policy& from, Policy& to) { to.rule_mode = from.rule_mode; }},
    {"edit_threshold",
     [](const Policy& from, Policy& to) { to.edit_threshold = from.edit_threshold; }},
    {"semantic_threshold",
     [](const Policy& from, Policy& to) { to.semantic_threshold = from.semantic_threshold; }},
    {"lead_threshold",
     [](const Policy& from, Policy& to) { to.lead_threshold = from.lead_threshold; }},
    {"least_probability",
     [](const Policy& from, Policy& to) { to.least_probability = from.least_probability; }},
    {"newest_documents",
     [](const Policy& from, Policy& to) { to.newest_documents = from.newest_documents; }},
    {"review_rate", [](const Policy& from, Policy& to) { to.review_rate = from.review_rate; }},
};

const Field* FieldOf(std::string_view name) {
  const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                   [&](const Field& each) { return each.name == name; });
  return field == std::end(kFields) ? nullptr : field;
}

std::string Hexadecimal(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%a", value);
  return text;
}

void CheckRuleSettings(const Policy& policy, const std::string& path, Violations& violations) {
  const auto check = [&](double value, const char* field) {
    if (!(value > 0 && value <= 1)) violations.Add(path + field, "must be above 0 and at most 1");
  };
  if (policy.rule_mode != RuleMode::kPublished && policy.rule_mode != RuleMode::kCalibrated) {
    violations.Add(path + ".rule_mode", "must be PUBLISHED or CALIBRATED");
  }
  check(policy.edit_threshold, ".edit_threshold");
  check(policy.semantic_threshold, ".semantic_threshold");
  check(policy.least_probability, ".least_probability");
  if (!(policy.lead_threshold >= kMinFloor && policy.lead_threshold <= 1)) {
    violations.Add(path + ".lead_threshold", "must be 0.1 to 1");
  }
  if (policy.newest_documents < 0 || policy.newest_documents > kMaxNewestDocuments) {
    violations.Add(path + ".newest_documents", "must be 0 (all of the window) to 1,000,000");
  }
}

}  // namespace

bool IsPolicyField(std::string_view name) { return FieldOf(name) != nullptr; }

std::string PolicyFieldNames() {
  std::string names;
  for (const Field& field : kFields) {
    if (!names.empty()) names += ", ";
    names += field.name;
  }
  return names;
}

Policy WithChange(const Policy& base, const PolicyChange& change) {
  Policy changed = base;
  for (const std::string& name : change.fields) {
    if (const Field* field = FieldOf(name)) field->copy(change.values, changed);
  }
  return changed;
}

// Written so that NaN, of which every comparison is false, is refused.
void CheckPolicy(const Policy& policy, const std::string& path, Violations& violations) {
  if (policy.window < minutes(1) || policy.window > hours(24 * 30)) {
    violations.Add(path + ".window", "must be 1 minute to 30 days");
  }
  if (!(policy.token_threshold >= kMinFloor && policy.token_threshold <= 1)) {
    violations.Add(path + ".token_threshold", "must be 0.1 to 1");
  }
  if (!(policy.candidate_floor >= kMinFloor && policy.candidate_floor <= policy.token_threshold)) {
    violations.Add(path + ".candidate_floor", "must be 0.1 to token_threshold");
  }
  if (!(policy.chain_floor >= 0 && policy.chain_floor <= 1)) {
    violations.Add(path + ".chain_floor", "must be 0 to 1");
  }
  if (policy.citation_channels < 0 || policy.citation_channels > kMaxCitationChannels) {
    violations.Add(path + ".citation_channels", "must be 0 (never) to 1,000");
  }
  CheckRuleSettings(policy, path, violations);
  if (!(policy.review_rate >= 0 && policy.review_rate <= 1)) {
    violations.Add(path + ".review_rate", "must be 0 to 1");
  }
}

std::string EtagOf(const std::string& ns, const Policy& policy) {
  std::string text = ns + '\0' + std::to_string(policy.version);
  text += ' ' + std::to_string(policy.window.count());
  for (const double number : {policy.token_threshold, policy.candidate_floor, policy.chain_floor,
                              policy.review_rate, policy.edit_threshold, policy.semantic_threshold,
                              policy.lead_threshold, policy.least_probability}) {
    text += ' ' + Hexadecimal(number);
  }
  text += policy.same_channel ? " 1 " : " 0 ";
  text += std::to_string(policy.citation_channels);
  text += ' ' + std::to_string(static_cast<int>(policy.rule_mode));
  text += ' ' + std::to_string(policy.newest_documents);
  char etag[20];
  std::snprintf(etag, sizeof(etag), "%016llx", static_cast<unsigned long long>(Hash64(text)));
  return etag;
}

}  // namespace winnow::dedup
