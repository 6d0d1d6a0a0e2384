#include "services/newsfeed/labels/category_rules.h"

#include <algorithm>
#include <set>

#include "services/newsfeed/articles/category.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {
namespace {

constexpr double kSnippetFactor = 0.5;
constexpr size_t kWordsNamed = 5;  // of a label's rule

// What speaks for or against one category.
struct Evidence {
  double points = 0;
  double best = 0;  // points of the strongest word
  std::string span;
  std::vector<std::string> words;  // those that speak for it, strongest first
};

std::string SpanText(const char* field, size_t begin, size_t end) {
  return std::string(field) + " " + std::to_string(begin) + " " + std::to_string(end);
}

std::string RuleText(const Evidence& evidence) {
  std::string rule = "words: ";
  for (size_t i = 0; i < std::min(evidence.words.size(), kWordsNamed); ++i) {
    const std::string more = (i == 0 ? "" : ", ") + evidence.words[i];
    if (i > 0 && CountCharacters(rule) + CountCharacters(more) > kMaxRule) break;
    rule += more;
  }
  return rule;
}

// One article's words, counted once each.
class RuleCount {
 public:
  explicit RuleCount(size_t categories) : evidence_(categories) {}

  bool IsNew(size_t word) { return counted_.insert(word).second; }
  void Add(size_t category, double points, const std::string& word, const std::string& span) {
    Evidence& evidence = evidence_[category];
    evidence.points += points;
    if (points <= 0) return;
    if (points > evidence.best) {
      evidence.best = points;
      evidence.span = span;
      evidence.words.insert(evidence.words.begin(), word);
    } else {
      evidence.words.push_back(word);
    }
  }
  const Evidence& of(size_t category) const { return evidence_[category]; }

 private:
  std::vector<Evidence> evidence_;
  std::set<size_t> counted_;
};

}  // namespace

std::vector<CategoryLabel> CategoryRules::Categorize(const RuleInput& input) const {
  RuleCount count(categories_.size());
  const auto add = [&](size_t word, double factor, const std::string& span) {
    if (!count.IsNew(word)) return;
    for (const Weight& weight : weights_[word]) {
      count.Add(weight.category, weight.weight * factor, words_[word], span);
    }
  };
  const auto look = [&](const char* field, std::string_view text, double factor) {
    const std::string folded = WordMatcher::Fold(text);
    for (const WordMatcher::Match& match : matcher_.Find(folded)) {
      const size_t begin = CountCharacters(text.substr(0, match.begin));
      const size_t size = CountCharacters(text.substr(match.begin, match.end - match.begin));
      add(match.word, factor, SpanText(field, begin, begin + size));
    }
    // Full width, decomposed and the like: found as well, but nowhere in the text as it is.
    const std::string normal = NormalizeNfkcCaseFold(folded);
    if (normal == folded) return;
    for (const WordMatcher::Match& match : matcher_.Find(normal)) {
      add(match.word, factor, std::string(field) + " 0 0");
    }
  };
  look("title", input.title, 1);
  if (input.keywords != nullptr) {
    for (const std::string& keyword : *input.keywords) {
      if (!IsPlaceholder(keyword)) look("keyword", keyword, 1);
    }
  }
  look("snippet", input.snippet, kSnippetFactor);
  if (input.vendor_categories != nullptr) {
    std::set<std::string> slugs;
    for (const std::string& name : *input.vendor_categories) {
      if (!IsPlaceholder(name)) slugs.insert(ToSlug(name));
    }
    for (const std::string& slug : slugs) {
      const auto found = vendor_categories_.find(slug);
      if (found == vendor_categories_.end()) continue;
      for (const Weight& weight : found->second) {
        count.Add(weight.category, weight.weight, "vendor category " + slug, "");
      }
    }
  }
  std::vector<std::pair<int, CategoryLabel>> found;
  for (size_t i = 0; i < categories_.size(); ++i) {
    const Evidence& evidence = count.of(i);
    if (evidence.points < categories_[i].threshold || evidence.words.empty()) continue;
    CategoryLabel label{categories_[i].id, RuleText(evidence),
                        evidence.points / (evidence.points + 1), evidence.span};
    found.emplace_back(categories_[i].priority, std::move(label));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.second.score != b.second.score ? a.second.score > b.second.score : a.first < b.first;
  });
  std::vector<CategoryLabel> labels;
  for (auto& [priority, label] : found) {
    if (labels.size() < kMaxCategories) labels.push_back(std::move(label));
  }
  return labels;
}

bool CategoryRules::IsPlaceholder(std::string_view text) const {
  const std::string folded = WordMatcher::Fold(text);
  return std::any_of(placeholders_.begin(), placeholders_.end(), [&](const std::string& part) {
    return folded.find(part) != std::string::npos;
  });
}

}  // namespace winnow::newsfeed
