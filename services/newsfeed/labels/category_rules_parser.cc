#include <algorithm>
#include <cmath>

#include "services/newsfeed/articles/category.h"
#include "services/newsfeed/labels/category_rules.h"
#include "services/platform/base/format/json_reader.h"
#include "services/platform/base/text.h"

// Reads the rules file; all errors are reported at once.
namespace winnow::newsfeed {

class RulesReader {
 public:
  explicit RulesReader(std::string_view json) : json_(json) {}

  StatusOr<CategoryRules> Read() {
    const bool read = json_.ReadObject([this](std::string_view name) { return Member(name); });
    if (!read || json_.Peek() != JsonReader::Kind::kEnd) {
      violations_.Add("", "is not valid JSON at byte " + std::to_string(json_.position()) + ": " +
                              json_.error());
    }
    if (rules_.categories_.empty()) violations_.Add("categories", "must name at least one");
    WINNOW_RETURN_IF_ERROR(violations_.ToStatus());
    std::vector<std::string> folded;
    for (const std::string& word : rules_.words_) folded.push_back(WordMatcher::Fold(word));
    rules_.matcher_ = WordMatcher(folded);
    return std::move(rules_);
  }

 private:
  using Weights = std::vector<CategoryRules::Weight>;

  bool Member(std::string_view name) {
    if (name == "version") {
      int64_t version = 0;
      if (!json_.ReadInteger(version)) return false;
      if (version != 1) violations_.Add("version", "must be 1");
      return true;
    }
    if (name == "placeholders") {
      return json_.ReadArray([this] {
        std::string text;
        if (!json_.ReadString(text)) return false;
        if (text.empty()) violations_.Add("placeholders", "has an empty text: all would match");
        rules_.placeholders_.push_back(WordMatcher::Fold(text));
        return true;
      });
    }
    if (name == "categories") {
      return json_.ReadArray([this] { return Category(); });
    }
    return Unknown("", name);
  }

  bool Category() {
    const size_t index = rules_.categories_.size();
    const std::string prefix = "categories[" + std::to_string(index) + "].";
    rules_.categories_.emplace_back();
    const bool read = json_.ReadObject(
        [&](std::string_view name) { return CategoryMember(name, index, prefix); });
    Check(index, prefix);
    return read;
  }

  bool CategoryMember(std::string_view name, size_t index, const std::string& prefix) {
    RuleCategory& category = rules_.categories_[index];
    if (name == "id") return json_.ReadString(category.id);
    if (name == "display_name") return json_.ReadString(category.display_name);
    if (name == "threshold") return json_.ReadDouble(category.threshold);
    if (name == "priority") {
      int64_t priority = 0;
      const bool read = json_.ReadInteger(priority);
      category.priority = static_cast<int>(std::clamp<int64_t>(priority, -1'000'000, 1'000'000));
      return read;
    }
    if (name == "words") {
      return ReadWeights(prefix + "words", [&](const std::string& word, double weight) {
        WeightsOf(word, prefix + "words").push_back({index, weight});
      });
    }
    if (name == "vendor_categories") {
      return ReadWeights(prefix + "vendor_categories", [&](const std::string& word, double weight) {
        const std::string slug = ToSlug(word);
        if (slug.empty()) {
          violations_.Add(prefix + "vendor_categories", "\"" + word + "\" is not a category name");
        }
        rules_.vendor_categories_[slug].push_back({index, weight});
      });
    }
    return Unknown(prefix, name);
  }

  template <class Add>
  bool ReadWeights(const std::string& field, Add add) {
    return json_.ReadObject([&](std::string_view word) {
      const std::string kept(word);  // the name is gone once its value is read
      double weight = 0;
      if (!json_.ReadDouble(weight)) return false;
      if (!std::isfinite(weight) || std::abs(weight) > 100) {
        violations_.Add(field, "\"" + kept + "\" must weigh -100 to 100");
      }
      add(kept, weight);
      return true;
    });
  }

  Weights& WeightsOf(const std::string& word, const std::string& field) {
    const std::string folded = WordMatcher::Fold(word);
    if (CollapseWhitespace(folded) != folded || folded.empty() ||
        CountCharacters(folded) > kMaxRuleWord) {
      violations_.Add(field, "\"" + word + "\" must have 1 to 100 characters, single spaces and " +
                                 "none at its ends");
    }
    const auto known = known_.find(folded);
    if (known != known_.end()) return rules_.weights_[known->second];
    known_[folded] = rules_.words_.size();
    if (rules_.words_.size() == kMaxRuleWords) {
      violations_.Add(field, "there are more than " + std::to_string(kMaxRuleWords) + " words");
    }
    rules_.words_.push_back(word);
    rules_.weights_.emplace_back();
    return rules_.weights_.back();
  }

  void Check(size_t index, const std::string& prefix) {
    const RuleCategory& category = rules_.categories_[index];
    if (!IsSlug(category.id) || IsBuiltInFeed(category.id)) {
      violations_.Add(prefix + "id", "must be [a-z0-9-], 1 to 64 characters, and no built-in feed");
    }
    for (size_t i = 0; i < index; ++i) {
      if (rules_.categories_[i].id == category.id) violations_.Add(prefix + "id", "is repeated");
    }
    if (category.display_name.empty() || CountCharacters(category.display_name) > kMaxDisplayName) {
      violations_.Add(prefix + "display_name", "must have 1 to 200 characters");
    }
    if (!(category.threshold > 0 && category.threshold <= 1'000)) {
      violations_.Add(prefix + "threshold", "must be above 0, at most 1000");
    }
    if (index == kMaxRuleCategories) {
      violations_.Add("categories", "has more than " + std::to_string(kMaxRuleCategories));
    }
  }

  bool Unknown(const std::string& prefix, std::string_view name) {
    violations_.Add(prefix + std::string(name), "is not a setting of category rules");
    return json_.Skip();
  }

  JsonReader json_;
  CategoryRules rules_;
  std::map<std::string, size_t> known_;  // folded word -> its index
  Violations violations_;
};

StatusOr<CategoryRules> CategoryRules::Parse(std::string_view json) {
  return RulesReader(json).Read();
}

}  // namespace winnow::newsfeed
