#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/newsfeed/articles/article.h"
#include "services/newsfeed/labels/word_matcher.h"
#include "services/platform/base/status.h"

// Which categories an article is in, by rules that are data (data/category_rules.json), and why.
namespace winnow::newsfeed {

inline constexpr size_t kMaxRuleCategories = 64;
inline constexpr size_t kMaxRuleWords = 2'000;
inline constexpr size_t kMaxRuleWord = 100;  // characters

struct RuleCategory {
  std::string id;
  std::string display_name;
  int priority = 0;        // of two with one score, the smaller comes first
  double threshold = 0.5;  // points an article needs
};

// What rules look at.
struct RuleInput {
  std::string_view title;
  std::string_view snippet;
  const std::vector<std::string>* keywords = nullptr;           // with tags
  const std::vector<std::string>* vendor_categories = nullptr;  // as the source names them
};

class CategoryRules {
 public:
  // INVALID_ARGUMENT with all violations.
  static StatusOr<CategoryRules> Parse(std::string_view json);

  // Best first. Each says which word gave most of its points, where, and how many points there are:
  // score = points / (points + 1). A word counts once, in the title or a keyword fully, in the
  // snippet half; one of negative weight counts against. Nothing when no category has its
  // threshold.
  std::vector<CategoryLabel> Categorize(const RuleInput& input) const;

  // Whether a vendor's text stands for one that is not there ("ONLY AVAILABLE IN PAID PLANS").
  bool IsPlaceholder(std::string_view text) const;

  const std::vector<RuleCategory>& categories() const { return categories_; }

 private:
  struct Weight {
    size_t category = 0;
    double weight = 0;
  };
  friend class RulesReader;

  std::vector<RuleCategory> categories_;
  std::vector<std::string> words_;            // as written
  std::vector<std::vector<Weight>> weights_;  // of words_
  WordMatcher matcher_;
  std::map<std::string, std::vector<Weight>, std::less<>> vendor_categories_;  // by slug
  std::vector<std::string> placeholders_;                                      // folded
};

}  // namespace winnow::newsfeed
