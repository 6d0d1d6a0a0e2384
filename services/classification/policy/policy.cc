#include "services/classification/policy/policy.h"

#include "services/platform/base/text.h"

namespace winnow::classification {
namespace {

constexpr size_t kMaxHeadRules = 16;
constexpr size_t kMaxTextRules = 100;
constexpr size_t kMaxNeedle = 200;

// What text rules compare.
std::string ToNeedle(std::string_view text) {
  return CollapseWhitespace(NormalizeNfkcCaseFold(text));
}

bool IsName(const std::string& name) { return IsSlug(name); }

void CheckOutcome(CommentStatus status, std::string& reason, const std::string& fallback,
                  const std::string& at, Violations& violations) {
  if (status == CommentStatus::kNone) {
    violations.Add(at + "status", "is required: set NORMAL, FILTERED or CONTENT_SUGGESTION");
  }
  if (reason.empty() && status == CommentStatus::kFiltered) reason = fallback;
  if (!IsReason(reason)) violations.Add(at + "reason", "must be [a-z0-9_], at most 64");
}

// Heads that learned from Korean corpora alone: of another text their score says no more than what
// most of their corpus was, which of toxic is toxic.
bool IsKoreanOnly(std::string_view head) {
  return head == "toxic" || head == "hate" || head == "profanity";
}

bool IsHangul(char32_t point) {
  return (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0x3131 && point <= 0x318E) ||
         (point >= 0x1100 && point <= 0x11FF) || (point >= 0xFFA0 && point <= 0xFFDC);
}

// Of UTF-8, in which all of Hangul takes three bytes.
bool HasHangul(std::string_view text) {
  const auto bits = [&](size_t at, unsigned mask) {
    return char32_t{static_cast<unsigned char>(text[at]) & mask};
  };
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (bits(i, 0xF0) != 0xE0) continue;
    if (IsHangul(bits(i, 0x0F) << 12 | bits(i + 1, 0x3F) << 6 | bits(i + 2, 0x3F))) return true;
  }
  return false;
}

}  // namespace

Policy DefaultPolicy() {
  Policy policy{.name = "default", .version = 1};
  for (const Head& head : EmbeddedModel().heads()) {
    const bool suggests = head.name == "suggestion";
    policy.heads.push_back({head.name, head.threshold,
                            suggests ? CommentStatus::kSuggestion : CommentStatus::kFiltered,
                            suggests ? "" : head.name});
  }
  return policy;
}

std::string LabelOf(const Policy& policy) {
  return policy.name + "@" + std::to_string(policy.version);
}

void CheckPolicy(Policy& policy, const std::string& prefix, Violations& violations) {
  if (!IsName(policy.name)) violations.Add(prefix + "name", "must be [a-z0-9-], 1 to 64");
  if (policy.heads.size() > kMaxHeadRules) {
    violations.Add(prefix + "head_rules", "has more than 16 entries");
  }
  if (policy.texts.size() > kMaxTextRules) {
    violations.Add(prefix + "text_rules", "has more than 100 entries");
  }
  if (!(policy.max_failed_share >= 0 && policy.max_failed_share <= 1)) {
    violations.Add(prefix + "max_failed_share", "must be 0 to 1");
  }
  for (size_t i = 0; i < policy.heads.size(); ++i) {
    HeadRule& rule = policy.heads[i];
    const std::string at = prefix + "head_rules[" + std::to_string(i) + "].";
    if (EmbeddedModel().Find(rule.head) < 0) {
      violations.Add(at + "head", "is not a head of the embedded model");
    }
    if (!(rule.threshold > 0 && rule.threshold <= 1)) {
      violations.Add(at + "threshold", "must be above 0 and at most 1");
    }
    CheckOutcome(rule.status, rule.reason, rule.head, at, violations);
  }
  for (size_t i = 0; i < policy.texts.size(); ++i) {
    TextRule& rule = policy.texts[i];
    const std::string at = prefix + "text_rules[" + std::to_string(i) + "].";
    if (rule.contains.empty() || CountCharacters(rule.contains) > kMaxNeedle) {
      violations.Add(at + "contains", "must be 1 to 200 characters");
    } else if (ToNeedle(rule.contains).empty()) {
      violations.Add(at + "contains", "holds nothing but white space and invisible characters");
    }
    CheckOutcome(rule.status, rule.reason, "text_rule", at, violations);
  }
}

Decider::Decider(const LinearModel& model, Policy policy)
    : model_(model), policy_(std::move(policy)) {
  for (const HeadRule& rule : policy_.heads) {
    heads_.push_back(model_.Find(rule.head));
    korean_only_.push_back(IsKoreanOnly(rule.head));
  }
  for (const TextRule& rule : policy_.texts) {
    needles_.push_back(ToNeedle(rule.contains));
  }
}

Decider::Decision Decider::Decide(std::string_view text) const {
  Decision decision;
  decision.scores = model_.Score(text);
  if (!needles_.empty()) {
    const std::string normal = ToNeedle(text);
    for (size_t i = 0; i < needles_.size(); ++i) {
      if (needles_[i].empty() || normal.find(needles_[i]) == std::string::npos) continue;
      const TextRule& rule = policy_.texts[i];
      decision.outcome = {rule.status, Failure::kNone, Source::kRule, 1, rule.reason};
      return decision;
    }
  }
  const bool korean = HasHangul(text);
  double nearest = 0;
  for (size_t i = 0; i < heads_.size(); ++i) {
    if (heads_[i] < 0 || (korean_only_[i] && !korean)) continue;
    const HeadRule& rule = policy_.heads[i];
    const float score = decision.scores[static_cast<size_t>(heads_[i])];
    if (score >= rule.threshold) {
      decision.outcome = {rule.status, Failure::kNone, Source::kModel, score, rule.reason};
      decision.head = heads_[i];
      return decision;
    }
    if (decision.head < 0 || score / rule.threshold > nearest) {
      nearest = score / rule.threshold;
      decision.head = heads_[i];
    }
  }
  // How sure it is that nothing else holds: the probability against the head that came nearest.
  const float against = decision.head < 0 ? 0 : decision.scores[static_cast<size_t>(decision.head)];
  decision.outcome = {CommentStatus::kNormal, Failure::kNone, Source::kModel, 1 - against, ""};
  return decision;
}

}  // namespace winnow::classification
