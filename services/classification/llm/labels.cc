#include "services/classification/llm/labels.h"

#include <algorithm>
#include <utility>

namespace winnow::classification {
namespace {

constexpr std::pair<const char*, const char*> kMeanings[] = {
    {"toxic", "insults, mocks or attacks a person"},
    {"hate", "shows contempt for a group of people: origin, gender, religion, age, politics"},
    {"profanity", "swears or is obscene, also in evasive spelling"},
    {"offensive_en", "is offensive or hateful, in English"},
    {"spam", "advertises, cheats, or begs for clicks and subscribers beside the subject"},
    {"suggestion", "proposes or asks for content: a subject, a guest, a place, a sequel"},
};

std::string MeaningOf(const std::string& head) {
  for (const auto& [name, meaning] : kMeanings) {
    if (head == name) return meaning;
  }
  return "is " + head;
}

std::string NameOf(const HeadRule& rule) {
  if (rule.status == CommentStatus::kSuggestion) return "content_suggestion";
  return rule.reason.empty() ? "filtered" : "filtered_" + rule.reason;
}

}  // namespace

std::vector<Label> LabelsOf(const Policy& policy) {
  std::vector<Label> labels = {
      {"normal", "", "none of the others: praise, criticism, chat", CommentStatus::kNormal, ""}};
  for (const HeadRule& rule : policy.heads) {
    if (rule.status == CommentStatus::kNormal || rule.status == CommentStatus::kNone) continue;
    Label label{NameOf(rule), rule.head, MeaningOf(rule.head), rule.status, rule.reason};
    const auto same = std::find_if(labels.begin(), labels.end(),
                                   [&](const Label& one) { return one.name == label.name; });
    if (same == labels.end()) {
      labels.push_back(std::move(label));
    } else {
      same->meaning += "; or " + label.meaning;
    }
  }
  return labels;
}

}  // namespace winnow::classification
