#include "services/newsfeed/labels/embedded_category_rules.h"

#include <fstream>
#include <stdexcept>

#include "services/platform/base/embedded_file.h"

namespace winnow::embedded {
extern const std::span<const File> newsfeed_data;
}

namespace winnow::newsfeed {
namespace {

constexpr size_t kMaxRulesFile = size_t{1} << 20;
constexpr char kField[] = "newsfeed.category_rules_file";

}  // namespace

const CategoryRules& DefaultCategoryRules() {
  static const CategoryRules rules = [] {
    StatusOr<CategoryRules> parsed = CategoryRules::Parse(embedded::newsfeed_data[0].text);
    if (!parsed.ok()) throw std::logic_error(Message(parsed.status()));
    return *std::move(parsed);
  }();
  return rules;
}

StatusOr<CategoryRules> LoadCategoryRules(const std::string& path) {
  if (path.empty()) return DefaultCategoryRules();
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxRulesFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxRulesFile) return InvalidField(kField, path + " has more than 1 MiB");
  if (!file.eof()) return InvalidField(kField, "cannot read " + path);
  StatusOr<CategoryRules> rules = CategoryRules::Parse(text);
  if (rules.ok()) return rules;
  std::vector<Violation> violations = ViolationsOf(rules.status());
  for (Violation& violation : violations) {
    violation.field = std::string(kField) + ": " + path + ": " + violation.field;
  }
  return InvalidArgument(std::move(violations));
}

}  // namespace winnow::newsfeed
