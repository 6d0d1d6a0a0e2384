#include "services/newsfeed/articles/citation.h"

#include "services/newsfeed/articles/article.h"
#include "services/platform/base/text.h"

namespace winnow::newsfeed {
namespace {

bool IsText(const std::string& text, size_t limit) {
  return CountCharacters(text) <= limit && text.find('\0') == std::string::npos;
}

}  // namespace

Status Check(const Citation& citation) {
  Violations violations;
  if (!IsSlug(citation.ns)) violations.Add("namespace", "must be [a-z0-9-], 1 to 64 characters");
  if (!IsArticleId(citation.original)) {
    violations.Add("original_item_id", "must be [A-Za-z0-9._:-], 1 to 128 characters");
  }
  if (!IsArticleId(citation.duplicate)) {
    violations.Add("item_id", "must be [A-Za-z0-9._:-], 1 to 128 characters");
  } else if (citation.duplicate == citation.original) {
    violations.Add("item_id", "an item cannot repeat itself");
  }
  if (citation.channel.empty() || !IsText(citation.channel, kMaxSource)) {
    violations.Add("channel", "must have 1 to 128 characters");
  }
  if (!IsText(citation.url, kMaxUrl)) violations.Add("url", "must have at most 2048 characters");
  return violations.ToStatus();
}

}  // namespace winnow::newsfeed
